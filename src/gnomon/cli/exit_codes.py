"""What a verb ends with (design page 8); 130 is the shell's own for Ctrl-C."""

DONE = 0
FAULT = 1
USAGE = 2
NEEDS_OPERATOR = 3
INTERRUPTED = 130
