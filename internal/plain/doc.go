// Package plain is the gate through which text of others goes to people and to files: answers of a
// target, its log lines and versions, names in stored or foreign files, messages of an agent.
//
// Such text can attack its reader in three ways, and each has one remedy here.
//
//   - It drives the terminal: escape sequences clear the screen or set the title, a carriage return hides a line, a
//     bidirectional override turns a word around. [Text] and [Lines] write every control and format character as the
//     escape that a Go string has for it: \x1b, \u202e.
//   - It forges a line: a newline in an error identifier begins a new line, and that line may read "sealed,
//     valid". [Text] quotes newlines too; [Fprintf] does so in every argument, so that only the format, which is
//     ours, ends a line. An error identifier is [ID] or it is not shown.
//   - It echoes a secret: the password or the session token of the request stands in the error, and the error in a
//     log that others read. [Secrets] knows all that were used or issued, and replaces them by value.
//
// A [LineWriter] does the first and the third for a whole stream with any writers; it is the last
// resort, and cannot know the source of a newline. [JSON] is the same for encoded values.
//
// # Limits
//
// Redaction is by value. A secret that the other side has encoded, reversed or cut into parts is
// not recognized, except in the forms that Go's encoders give it (JSON, URL, quoted string). See
// [Secrets] for short secrets and for words.
//
// The package knows no server, no format of ours, and nothing of where text goes. It is for output
// and for errors, never for the path of an operation that succeeds. All of it is safe for
// concurrent use.
package plain
