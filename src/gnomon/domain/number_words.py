"""Numbers as English words. Pure data.

The refiner's check refuses edits that bring them; the simulator looks for them in what the
agent was told. The lists are shared, how they are searched is not, so that one fault cannot
blind both.
"""

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEN = "ten"
TEENS = (
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
SCALES = ("hundred", "thousand", "million", "billion", "dozen")
ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
PARTS = (
    "half",
    "halves",
    "quarter",
    "quarters",
    "thirds",
    "fourths",
    "fifths",
    "sixths",
    "sevenths",
    "eighths",
    "ninths",
    "tenths",
    "percent",
    "percentage",
    "percentages",
    "percentile",
    "permille",
)
