package verbs
