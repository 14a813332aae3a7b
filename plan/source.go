package plan

// A SourceRange is the history of the program's source, in which the commits behind a difference are
// looked for. Nothing of it is built, and nothing is fetched for it.
type SourceRange struct {
	Repo string `yaml:"repo"` // directory
	Base string `yaml:"base"` // revision of the base
	New  string `yaml:"new"`  // revision of the other arms
}

var sourceKeys = section{
	{"repo", text.needed("write the directory of a git repository"),
		`Directory of the git repository; a relative path counts from the working directory of
		plimsoll.`},
	{"base", text.needed("write the revision of the base, such as v10.5.7"),
		`Revision of the base: tag, branch or commit.`},
	{"new", text.needed("write the revision of the new arm, such as v10.6.0-rc1"),
		`Revision of the other arms.`},
}
