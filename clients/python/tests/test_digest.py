# The digest, held against the vectors that the server and the other client share, and what no digest is made of.
import decimal
import enum
import json
import math
import unittest
from collections import OrderedDict
from pathlib import Path
from typing import Any

import holdpoint

_file = Path(__file__).parents[3] / "test" / "vectors" / "digest.json"
_shared = json.loads(_file.read_text("utf-8"))


class Colour(str, enum.Enum):
    RED = "red"


class Vectors(unittest.TestCase):
    def test_each_vector_comes_out(self) -> None:
        self.assertGreater(len(_shared["vectors"]), 60)
        for vector in _shared["vectors"]:
            with self.subTest(vector["name"]):
                of = dict(vector["of"])
                details = holdpoint.loads(of.pop("details"))
                self.assertEqual(holdpoint.digest(of.pop("action"), details, **of), vector["digest"])
                members = json.loads(vector["canonical"]).keys()
                self.assertIn(f'"details":{holdpoint.canonical(details)},', vector["canonical"])
                self.assertLessEqual(4, len(members))

    def test_what_is_no_digest_is_refused(self) -> None:
        self.assertGreater(len(_shared["refused"]), 10)
        for refused in _shared["refused"]:
            with self.subTest(refused["name"]), self.assertRaises(ValueError):
                holdpoint.loads(refused["details"])


class Canonical(unittest.TestCase):
    def test_numbers_are_written_as_ecmascript_does(self) -> None:
        cases: list[tuple[float, str]] = [
            (1e16, "10000000000000000"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "0"),
            (4.0, "4"),
            (5e-324, "5e-324"),
            (-1.7976931348623157e308, "-1.7976931348623157e+308"),
            (2**53, "9007199254740992"),
            (-(2**53), "-9007199254740992"),
            (1424953923781206.2, "1424953923781206.2"),
        ]
        for number, written in cases:
            self.assertEqual(holdpoint.canonical({"n": number}), f'{{"n":{written}}}')

    def test_whatever_the_float_it_reads_back_as_the_same(self) -> None:
        number, wanted = 1e-320, 0
        while number < 1e308:
            number *= 1.37
            for one in (number, -number, math.nextafter(number, 0) if hasattr(math, "nextafter") else number):
                self.assertEqual(float(holdpoint.canonical([one])[1:-1]), one)
                wanted += 1
        self.assertGreater(wanted, 4000)

    def test_true_is_not_one_and_false_is_not_zero(self) -> None:
        self.assertEqual(holdpoint.canonical([True, 1, False, 0, None]), "[true,1,false,0,null]")
        self.assertNotEqual(holdpoint.digest("a", {"n": True}), holdpoint.digest("a", {"n": 1}))
        self.assertEqual(holdpoint.digest("a", {"n": 1.0}), holdpoint.digest("a", {"n": 1}))

    def test_names_are_sorted_by_utf_16_units(self) -> None:
        names = {"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4, "": 5}
        self.assertEqual(holdpoint.canonical(names), '{"":5,"1":4,"\u20ac":3,"\U0001f600":2,"\ufb33":1}')

    def test_what_json_cannot_carry_is_refused_with_its_place(self) -> None:
        cycle: list[Any] = []
        cycle.append(cycle)
        deep: Any = 1
        for _ in range(65):
            deep = [deep]
        cases: list[tuple[Any, str]] = [
            (math.nan, "no nan"),
            (math.inf, "no inf"),
            (2**53 + 1, r"beyond 2\^53"),
            (-(2**60), r"beyond 2\^53"),
            ("\ud800", "lone surrogate"),
            ("\ud83d\ude00", "lone surrogate"),
            ((1, 2), "a tuple is no JSON value .* make it a list"),
            ({1, 2}, "a set"),
            (b"x", "a bytes"),
            (decimal.Decimal("1.5"), "a Decimal"),
            (object(), "an object"),
            (Colour.RED, "a Colour"),
            (OrderedDict(a=1), "an OrderedDict"),
            ({1: "x"}, "the name 1 is an int"),
            ({None: "x"}, "the name None"),
            ({"\udc00": 1}, "lone surrogate"),
            ({"__proto__": {}}, "__proto__"),
            ({"constructor": {"prototype": 1}}, "prototype"),
            (cycle, "deeper than 64"),
            (deep, "deeper than 64"),
        ]
        for value, words in cases:
            with self.subTest(words), self.assertRaisesRegex(holdpoint.Invalid, rf"^details\.x.*{words}"):
                holdpoint.canonical({"x": [value]} if words.startswith("deeper") else {"x": value})
        self.assertIsInstance(holdpoint.Invalid("x"), ValueError)

    def test_as_deep_as_the_service_takes_it_is_taken(self) -> None:
        deep: Any = {}
        for _ in range(64):
            deep = {"a": deep}
        self.assertEqual(len(holdpoint.canonical(deep)), 64 * 6 + 2)
        with self.assertRaises(holdpoint.Invalid):
            holdpoint.canonical({"a": {**deep, "b": {}}})

    def test_the_action_is_trimmed_as_the_service_trims_it(self) -> None:
        plain = holdpoint.digest("a")
        for blank in ("\ufeff", "\u00a0", "\u3000", "\u2028", "\u200a", " \t\r\n\v\f"):
            self.assertEqual(holdpoint.digest(f"{blank}a{blank}"), plain)
        # str.strip would take these, and the service does not.
        for kept in ("\x1c", "\x1f", "\x85", "\u200b"):
            self.assertNotEqual(holdpoint.digest(f"a{kept}"), plain)
        self.assertEqual(holdpoint.digest("a", on_behalf_of=" "), plain)
        self.assertNotEqual(holdpoint.digest("a", on_behalf_of="x"), plain)


if __name__ == "__main__":
    unittest.main()
