#!/usr/bin/env bash
# What `make test-page` needs beside .venv: playwright into it, and a Chromium of the system.
set -eu
python=$1

if ! "$python" -c "import playwright" 2> /dev/null; then
    "$python" -m pip install --quiet --require-hashes -r constraints-page.txt
fi

has_chromium() {
    for name in ${CHROMIUM:-} chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" > /dev/null && return 0
    done
    return 1
}

if ! has_chromium && [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium
fi
if ! has_chromium; then
    echo "test-page: no Chromium found (chromium, google-chrome), and it cannot be installed here" >&2
    echo "  hint: apt-get install chromium as root, or CHROMIUM=/path/to/chromium make test-page" >&2
    exit 1
fi
