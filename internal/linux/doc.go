// Package linux holds the calls of the Linux kernel that the program needs beyond POSIX:
// namespaces, placement on CPUs, shared blocks of files, and the death of children. On another
// system each returns [errors.ErrUnsupported] or does nothing, so that the verbs that only read are
// built there too ([Missing]).
package linux
