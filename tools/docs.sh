# The command of ./dev that makes the documentation's site; a part of that script.
# shellcheck shell=bash disable=SC2154 # root is the other's

command_docs() {
  environment docs
  step='making the site'
  say "$step"
  mkdir -p "$root/build/docs"
  python3 "$root/tools/site_pages.py" "$root/build/docs/pages"
  "$root/build/docs-env/bin/mkdocs" --quiet build --strict --config-file "$root/build/docs/pages.yml"
  verdict "ok, build/docs/site/index.html"
}
