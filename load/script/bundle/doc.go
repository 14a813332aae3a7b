// Package bundle reads a test in JavaScript or TypeScript and all that it imports into one program.
//
// [Read] follows the imports from the script on. Files below the script's folder become a part of
// the program; the modules of [Modules] stay imports, which the runtime resolves; everything else is
// an error with its place and a remedy. esbuild joins the files and translates the few things that
// the engine, github.com/grafana/sobek, cannot parse: types, for await, async generators, using and
// decorators. [Check] lists each use of k6 that has no meaning here.
//
// # Limits
//
// No file outside of the script's folder is opened, by whatever name or symbolic link: the folder
// is an [os.Root]. A script has at most 1,000 files, which hold at most 16 MiB together, brackets
// are nested 500 deep at most, and bundling ends after 30 s. The texts of a bundle hold no absolute
// path, so equal sources have an equal digest on any machine.
//
// The package runs nothing of the script, and knows neither plans nor users.
package bundle
