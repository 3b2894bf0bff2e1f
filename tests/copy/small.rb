# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Small copies, by IO::Buffer and by String: the first cost a trap each, the others none.
Warning[:experimental] = false

COPIES = 50_000
source = IO::Buffer.new(1024)
target = IO::Buffer.new(1024)
string = "s".b * 3000
COPIES.times { target.copy(source) }
COPIES.times { string.byteslice(1, 1024) + "y" }
puts %({"script": "small", "ruby": "#{RUBY_VERSION}", "pid": #{$$}, "copies": #{COPIES}})
$stdout.flush
exit!(0)
