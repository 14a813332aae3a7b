"""Makes the sources of the site out of docs: pages.py PROGRAM WORKER DIRECTORY.

The Markdown files stay as they are in the repository. Their order is the lists of docs/README.md. The page
of the verbs comes from the program. A file of the repository that a page links to is a page below repository/.
DIRECTORY gets mkdocs.yml and docs; WORKER is the script by which the search runs from file://.
"""

import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n\n"
# Code is skipped. Groups: the ending of a file name that is the text of a link; the target of a link; the three or
# five spaces before text in a numbered list, of which the generator wants one more than GitHub.
MARKS = re.compile(
    r"(?ms)^(?P<fence>```+).*?^(?P=fence)$|`[^`\n]+`|(?P<named>\.md)?\]\((?P<to>[^)\s#:]+)(?=[)#])"
    r"|^(?P<indent> {3}(?:  )?)(?=\S)"
)
LANGUAGES = {".go": "go", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "sh"}


def main(program, worker, directory):
    sources = Path(directory) / "docs"
    shutil.rmtree(directory, ignore_errors=True)
    made = {"Verbs": verbs(program)}
    for title, text in made.items():
        write(sources / name_of(title), f"# {title}\n\n{text}")
    todo = [p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "docs").rglob("*")) if p.is_file()]
    seen = set(todo)
    for path in todo:
        for linked in page(path, sources / source(path)):
            if linked not in seen and (ROOT / linked).exists():
                seen.add(linked)
                todo.append(linked)
    shutil.copy(worker, sources / "iframe-worker.js")
    shutil.copy(ROOT / "scripts/site/site.css", sources)
    config = (ROOT / "scripts/site/mkdocs.yml").read_text()
    write(Path(directory) / "mkdocs.yml", f"{config}nav: {json.dumps(navigation(made))}\n")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def name_of(title):
    """The file of a page that the program made."""
    return title.lower().replace(" ", "-") + ".md"


def navigation(made):
    """Each heading of docs/README.md with the links that its lists begin with."""
    nav, section = [{"Home": "README.md"}], None
    for line in (ROOT / "docs/README.md").read_text().splitlines():
        if m := re.match(r"## (.+)", line):
            section = [{title: name_of(title)} for title in made] if m[1] == "Reference" else []
            nav.append({m[1]: section})
        elif m := re.match(r"- \[(.+?)\]\(([^)#]+)\)", line):
            section.append({m[1]: source(posixpath.normpath("docs/" + m[2]))})
    return nav


def source(path):
    """The site's name of a file of the repository."""
    name = path.removeprefix("docs/") if path.startswith("docs/") else "repository/" + path
    if (ROOT / path).is_dir():
        return name + "/README.md"
    return name if path.endswith((".md", ".png", ".svg")) or not (ROOT / path).exists() else name + ".md"


def page(path, target):
    """Writes the source for a file or directory, and returns what it links to."""
    whole, to = ROOT / path, []
    if whole.is_dir() and (whole / "README.md").exists():
        path, whole = path + "/README.md", whole / "README.md"
    if whole.is_dir():
        names = "".join(f"- `{p.name}`\n" for p in sorted(whole.iterdir()))
        write(target, f"{NOT_SEARCHED}# {path}\n\n{names}")
    elif path.endswith(".md"):
        here = posixpath.dirname(source(path))

        def changed(m):
            if m["indent"]:
                return m["indent"] + " "
            if not m["to"]:
                return m[0]
            to.append(posixpath.normpath(posixpath.join(posixpath.dirname(path), m["to"])))
            return "](" + posixpath.relpath(source(to[-1]), here or ".")

        write(target, MARKS.sub(changed, whole.read_text()))
    elif target.suffix == whole.suffix:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(whole, target)
    else:
        language = LANGUAGES.get(whole.suffix, "text")
        write(target, f"{NOT_SEARCHED}# {path}\n\n````{language}\n{whole.read_text()}\n````\n")
    return to


def printed(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


def verbs(program):
    """The verbs as the program's own help describes them."""
    overview = printed(program, "help")
    text = f"```text\n{overview}```\n"
    for name in re.findall(r"(?m)^  (\w+)  +\S", overview):
        own = printed(program, "help", name)
        text += f"\n## {name}\n\n```text\n{own}```\n"
        for part in re.findall(r"[a-z]+(?=[ |])", own.splitlines()[0].partition("[flags] ")[2]):
            if (of_part := printed(program, "help", name, part)) != own:
                text += f"\n### {name} {part}\n\n```text\n{of_part}```\n"
    return text


if __name__ == "__main__":
    main(*sys.argv[1:])
