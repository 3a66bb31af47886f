# The command of ./dev that makes the documentation's site; a part of that script.
# shellcheck shell=bash disable=SC2154 # root is the other's

# The README, word for word, and the page that leads from there to a supervised model.
follow_pages() {
  prepare_python
  build_python dev
  PYTHONPATH=$(folder_of dev)/python "$(python_of)" "$root/tools/follow_pages.py" \
    "$root/README.md" "$root/docs/python/first-model.md"
}

command_docs() {
  environment docs
  step='making the site'
  say "$step"
  mkdir -p "$root/build/docs"
  python3 "$root/tools/site_pages.py" "$root/build/docs/pages"
  NO_MKDOCS_2_WARNING=1 "$root/build/docs-env/bin/mkdocs" --quiet build --strict --config-file "$root/build/docs/pages.yml"
  verdict "ok, build/docs/site/index.html"
}
