#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each folder below user/ sees only those it needs.

. "$(dirname "$0")/lib.sh"

# folder: what it may include
allowed='util: util
event: event stat util
stat: stat util
ref: ref event stat render util
gate: gate stat util
trace: trace event util
target: target util
probe: probe ref target event util bpf
render: render gate event stat util
cmd: cmd probe target trace ref gate event stat render util'

for dir in user/*/; do
	name=$(basename "$dir")
	may=$(printf '%s\n' "$allowed" | sed -n "s/^$name: //p")
	bad=$(grep -H '^#include "' "$dir"*.[ch] | sed 's/^\([^:]*\):#include "\([^/"]*\)\/.*/\1 \2/' |
		while read -r file folder; do
			case " $may " in
			*" $folder "*) ;;
			*) printf '%s includes %s/ ' "$file" "$folder" ;;
			esac
		done)
	is "user/$name includes only: $may" "$bad" ''
done

done_testing
