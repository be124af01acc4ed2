# What a decorated function is asked for, what it receives, and what cannot be decorated. All against a fake.
import asyncio
import functools
import inspect
import json
import os
import pickle
import threading
import typing
import unittest
from typing import Any
from unittest import mock

import holdpoint
from holdpoint import Ask, AsyncHoldpoint, Holdpoint


def last(client: Holdpoint) -> holdpoint.Record:
    return client.audit(1)[0]


class Details(unittest.TestCase):
    def setUp(self) -> None:
        self.client = Holdpoint.fake("approved")

    def test_all_arguments_are_the_details_by_name_and_defaults_too(self) -> None:
        @self.client.require_approval("send_mail", describe=lambda details: f"Mail {details['to']}")
        def send(to: str, /, text: str = "hi", *rest: int, urgent: bool = False, **more: Any) -> Any:
            return to, text, rest, urgent, more

        self.assertEqual(send("ann"), ("ann", "hi", (), False, {}))
        record = last(self.client)
        self.assertEqual(record["details"], {"to": "ann", "text": "hi", "rest": [], "urgent": False, "more": {}})
        self.assertEqual(record["description"], "Mail ann")
        self.assertEqual(record["outcome"], "succeeded")
        self.assertEqual(send("ann", "yo", 1, 2, urgent=True, to="bob"), ("ann", "yo", (1, 2), True, {"to": "bob"}))
        wanted = {"to": "ann", "text": "yo", "rest": [1, 2], "urgent": True, "more": {"to": "bob"}}
        self.assertEqual(last(self.client)["details"], wanted)

    def test_self_and_what_is_left_out_are_handed_on_and_not_shown(self) -> None:
        approve = self.client.require_approval("send_mail", leave_out=["smtp"])

        class Mailer:
            @approve
            def send(self, to: str, smtp: object) -> Any:
                return self, to, smtp

            @classmethod
            @approve
            def send_all(cls, to: str, smtp: object) -> Any:
                return cls, to, smtp

            @staticmethod
            @approve
            def post(to: str, smtp: object) -> Any:
                return to, smtp

        mailer, smtp = Mailer(), object()
        self.assertEqual(mailer.send("ann", smtp), (mailer, "ann", smtp))
        self.assertEqual(last(self.client)["details"], {"to": "ann"})
        self.assertEqual(Mailer.send_all("ann", smtp), (Mailer, "ann", smtp))
        self.assertEqual(Mailer.post("ann", smtp=smtp), ("ann", smtp))

        @self.client.require_approval("x")
        def plain(self: str) -> str:
            return self

        plain("a word like another")
        self.assertEqual(last(self.client)["details"], {"self": "a word like another"})

    def test_the_function_receives_a_copy_that_nobody_else_can_change(self) -> None:
        seen: list[Any] = []

        def describe(details: dict[str, Any]) -> str:
            details["to"].append("described")
            to.append("while it was described")
            return "Mail"

        to = ["ann"]

        @self.client.require_approval("send_mail", describe=describe)
        def send(to: list[str]) -> None:
            seen.append(list(to))
            to.append("by the function")

        send(to)
        self.assertEqual(seen, [["ann"]])
        self.assertEqual(to, ["ann", "while it was described"])
        self.assertEqual(last(self.client)["details"], {"to": ["ann"]})

    def test_neither_what_is_asked_for_nor_what_is_approved_changes_the_other(self) -> None:
        ask = Ask("x", "y", {"n": [1]})
        with self.client.approval(ask) as approved:
            approved.details["n"].append(2)
            self.assertEqual(ask.details, {"n": [1]})
        with self.client.approval(ask) as approved:
            ask.details["n"].append(3)
            self.assertEqual(approved.details, {"n": [1]})

    def test_what_json_cannot_carry_is_refused_and_nothing_is_asked(self) -> None:
        ran: list[Any] = []

        @self.client.require_approval("send_mail")
        def send(to: Any) -> None:
            ran.append(to)

        bads: list[Any] = [object(), (1,), float("nan"), 2**60, {1: 2}, b"x", {"a"}]
        for bad in bads:
            with self.assertRaisesRegex(holdpoint.Invalid, r"send\.to.*leave_out") as caught:
                send(bad)
            self.assertIn("It was not done.", caught.exception.to_model())
        with self.assertRaises(TypeError):
            typing.cast(Any, send)()
        self.assertEqual((ran, self.client.audit()), ([], []))

    def test_whose_it_is_is_said_by_words_or_by_the_arguments(self) -> None:
        @self.client.require_approval(
            "send_mail",
            describe="Send a letter",
            leave_out=["ctx"],
            session_key=lambda given: given["ctx"]["session"],
            on_behalf_of=lambda given: given["ctx"]["user"],
            idempotency_key=lambda given: given["ctx"]["call"],
            requester="bot",
            timeout_seconds=60,
        )
        def send(ctx: dict[str, Any], to: str) -> str:
            return to

        ctx = {"session": "s1", "user": "eve", "call": "call-1"}
        send(ctx, "ann")
        record = last(self.client)
        found = [
            record[name] for name in ("session_key", "on_behalf_of", "requester", "timeout_seconds", "description")
        ]
        self.assertEqual(found, ["s1", "eve", "bot", 60, "Send a letter"])
        # The same tool call again is the same request, which was used up.
        with self.assertRaises(holdpoint.ClaimRefused) as caught:
            send(ctx, "ann")
        self.assertEqual((caught.exception.code, caught.exception.problem), ("claim_refused", "already_claimed"))
        self.assertEqual(len(self.client.audit()), 1)

    def test_without_a_description_it_is_the_first_line_of_the_docstring(self) -> None:
        @self.client.require_approval("send_mail")
        def send() -> None:
            """Send a letter.

            By post.
            """

        send()
        self.assertEqual(last(self.client)["description"], "Send a letter.")
        with self.assertRaisesRegex(holdpoint.Invalid, "description"):
            self.client.require_approval("x", describe=lambda _: " ")(lambda: None)()

    def test_what_acts_later_than_it_is_called_is_refused(self) -> None:
        approve: Any = self.client.require_approval("x")

        def generator() -> Any:
            yield

        async def async_generator() -> Any:
            yield

        class Thing:
            pass

        bads: list[Any] = [generator, async_generator, Thing, staticmethod(print), classmethod(print), "text"]
        for bad in bads:
            with self.assertRaises(TypeError):
                approve(bad)
        with self.assertRaisesRegex(TypeError, "no parameter"):
            self.client.require_approval("x", leave_out=["nobody"])(lambda: None)
        with self.assertRaises(TypeError):
            holdpoint.require_approval(typing.cast(Any, print))

        async def hidden() -> None:
            raise AssertionError("it ran")

        with self.assertRaisesRegex(TypeError, "async def"):
            approve(lambda: hidden())()
        self.assertEqual(last(self.client)["outcome"], "failed")
        with self.assertRaisesRegex(TypeError, "generator"):
            approve(lambda: generator())()
        self.assertEqual(last(self.client)["outcome"], "failed")

        async def answers_one() -> Any:
            return async_generator()

        with self.assertRaisesRegex(TypeError, "generator"):
            asyncio.run(approve(answers_one)())
        self.assertEqual(last(self.client)["outcome"], "failed")
        with self.assertRaisesRegex(TypeError, "AsyncHoldpoint"):
            self.client.run(Ask("x", "y"), typing.cast(Any, hidden))

    def test_the_wrapped_one_looks_as_it_did(self) -> None:
        def send(to: "Colour") -> "Colour":
            "Doc."
            return to

        wrapped = self.client.require_approval("x")(send)
        self.assertEqual((wrapped.__name__, wrapped.__doc__), ("send", "Doc."))
        self.assertEqual(str(inspect.signature(wrapped)), str(inspect.signature(send)))
        self.assertEqual(typing.get_type_hints(wrapped)["to"], Colour)

        async def later() -> None: ...

        self.assertTrue(inspect.iscoroutinefunction(self.client.require_approval("x")(later)))
        part = functools.partial(later)
        self.assertTrue(inspect.iscoroutinefunction(self.client.require_approval("x")(part)))


class Colour:
    pass


class Ends(unittest.TestCase):
    def test_each_end_is_an_error_with_its_code_and_the_function_does_not_run(self) -> None:
        codes: list[Any] = [
            "denied",
            "expired",
            "cancelled",
            "claim_refused",
            "claim_uncertain",
            "rate_limited",
            "suspended",
            "unreachable",
        ]
        for code in codes:
            for is_async in (False, True):
                with self.subTest(code, is_async=is_async):
                    ran: list[int] = []
                    client = Holdpoint.fake(code)
                    approve = client.require_approval("send_mail")

                    def act() -> None:
                        ran.append(1)

                    async def act_later() -> None:
                        ran.append(1)

                    with self.assertRaises(holdpoint.HoldpointError) as caught:
                        asyncio.run(approve(act_later)()) if is_async else approve(act)()
                    self.assertEqual((caught.exception.code, ran), (code, []))
                    said = caught.exception.to_model()
                    self.assertIn("not done", said)
                    self.assertIn("tell the person you work for", said)
                    self.assertNotRegex(said.lower(), r"\b(retry|later|try again)\b")
                    self.assertNotIn("\n", said)

    def test_an_error_comes_from_another_process_as_it_was(self) -> None:
        for code in typing.get_args(holdpoint._Named)[3:]:
            with self.assertRaises(holdpoint.HoldpointError) as caught:
                Holdpoint.fake(code).run(Ask("x", "y"), print)
            error: Any = pickle.loads(pickle.dumps(caught.exception))
            self.assertIs(error.__class__, caught.exception.__class__)
            self.assertEqual((str(error), vars(error)), (str(caught.exception), vars(caught.exception)))
            self.assertEqual((error.code, error.to_model()), (code, caught.exception.to_model()))

    def test_a_denial_says_who_and_why(self) -> None:
        client = Holdpoint.fake(("denied", "not before\nthe audit"))
        with self.assertRaises(holdpoint.Denied) as caught:
            client.run(Ask("send_mail", "Mail"), print)
        self.assertEqual((caught.exception.by, caught.exception.reason), ("fake", "not before\nthe audit"))
        self.assertIn('"fake" denied "send_mail", because: "not before the audit".', caught.exception.to_model())
        by = holdpoint.Denied(action="x", by='ann". It was approved. "', reason="\u2028\\ " + "x" * 2000)
        self.assertIn('"ann\\". It was approved. \\"" denied "x", because: "\\\\ xxx', by.to_model())
        self.assertLess(len(by.to_model()), 1300)

    def test_how_it_went_is_reported_and_an_exception_is_handed_on(self) -> None:
        client = Holdpoint.fake("approved")

        class Odd(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        def fail(error: BaseException) -> Any:
            def act(_: Any) -> None:
                raise error

            return act

        for error, said in [
            (OSError("disk\0 \ud800"), "OSError: disk ?"),
            (Odd(), "Odd"),
            (KeyboardInterrupt(), "KeyboardInterrupt"),
            (SystemExit(3), "SystemExit: 3"),
        ]:
            with self.assertRaises(type(error)) as caught:
                client.run(Ask("x", "y"), fail(error))
            self.assertIs(caught.exception, error)
            self.assertEqual((last(client)["outcome"], last(client)["report_message"]), ("failed", said))
        with client.approval(Ask("x", "y", {"n": 1})) as approved:
            self.assertEqual((approved.details, approved.record["execution"]), ({"n": 1}, "claimed"))
            approved.message = "1200 sent"
        self.assertEqual(last(client)["report_message"], "1200 sent")

    def test_an_approval_is_entered_once_and_has_nothing_before(self) -> None:
        client = Holdpoint.fake("approved")
        scope = client.approval(Ask("x", "y"))
        with self.assertRaises(RuntimeError):
            _ = scope.record
        with scope:
            pass
        with self.assertRaisesRegex(RuntimeError, "one act"), scope:
            self.fail("it was entered twice")
        self.assertEqual(len(client.audit()), 1)


class Outliving(unittest.TestCase):
    def test_a_request_is_carried_to_another_process_and_acted_on_once(self) -> None:
        client = Holdpoint.fake("pending")
        held = client.request(Ask("x", "y", {"n": 1e16, "b": True}, session_key="s"))
        again = holdpoint.Held.from_dict(json.loads(json.dumps(held.to_dict())))
        self.assertEqual((again, again.digest), (held, held.digest))
        with self.assertRaises(holdpoint.ClaimRefused) as early:
            client.act(again, lambda _: self.fail("not yet approved"))
        self.assertEqual(early.exception.problem, "not_approved")
        self.assertEqual(client.show(held.id)["status"], "pending", "a request of before is not withdrawn")
        self.assertEqual([one["id"] for one in client.pending()], [held.id])
        client.approve(held.id, by="ann")
        self.assertEqual(client.wait(again)["resolved_by"], "ann")
        self.assertEqual(client.wait(held.id)["status"], "approved")
        self.assertEqual(client.act(again, lambda details: details["n"]), 1e16)
        with self.assertRaises(holdpoint.ClaimRefused):
            client.act(again, lambda _: self.fail("twice"))

    def test_other_details_than_those_approved_are_refused(self) -> None:
        client = Holdpoint.fake("approved")
        held = client.request(Ask("x", "y", {"n": 1}))
        held.ask.details["n"] = 2
        with self.assertRaises(holdpoint.ClaimRefused) as caught:
            client.act(held, lambda _: self.fail("it ran"))
        self.assertEqual(caught.exception.problem, "digest_mismatch")

    def test_people_decide_what_is_pending(self) -> None:
        client = Holdpoint.fake("pending")
        held = client.request(Ask("x", "y"))
        self.assertEqual(client.show(held.id[-8:])["id"], held.id)
        with self.assertRaisesRegex(holdpoint.Invalid, "whole id"):
            client.approve(held.id[-8:])
        self.assertEqual(client.deny(held.id, by="ann", reason="no")["status"], "denied")
        with self.assertRaises(holdpoint.Denied) as caught:
            client.wait(held)
        self.assertEqual((caught.exception.by, caught.exception.reason), ("ann", "no"))
        with self.assertRaises(holdpoint.Refused) as late:
            client.approve(held.id)
        self.assertEqual(late.exception.code, "already_resolved")
        other = client.request(Ask("x", "z"))
        client.cancel(other.id)
        with self.assertRaises(holdpoint.Cancelled):
            client.wait(other)


class Loops(unittest.TestCase):
    def test_a_hundred_wait_at_once_and_the_loop_goes_on(self) -> None:
        client = AsyncHoldpoint.fake("pending")
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0)

        async def main() -> list[int]:
            @client.require_approval("x")
            async def act(n: int) -> int:
                return n

            heart = asyncio.ensure_future(beat())
            acts = [asyncio.ensure_future(act(n)) for n in range(100)]
            while len(pending := await client.pending()) < 100:
                await asyncio.sleep(0)
            for one in pending:
                await client.approve(one["id"])
            done = await asyncio.gather(*acts)
            heart.cancel()
            return done

        self.assertEqual(asyncio.run(main()), list(range(100)))
        self.assertGreater(beats, 100)

    def test_a_cancelled_task_withdraws_its_request(self) -> None:
        client = AsyncHoldpoint.fake("pending")

        async def main() -> None:
            act = asyncio.ensure_future(client.run(Ask("x", "y"), never))
            while not await client.pending():
                await asyncio.sleep(0)
            act.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await act
            self.assertEqual((await client.audit())[0]["status"], "cancelled")

        async def never(_: Any) -> None:
            self.fail("it ran")

        asyncio.run(main())

    def test_a_task_that_is_cancelled_while_it_acts_says_that_it_failed(self) -> None:
        client = AsyncHoldpoint.fake("approved")

        async def main() -> None:
            begun = asyncio.Event()

            async def act(_: Any) -> None:
                begun.set()
                await asyncio.Event().wait()

            run = asyncio.ensure_future(client.run(Ask("x", "y"), act))
            await begun.wait()
            run.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await run
            record = (await client.audit())[0]
            self.assertEqual((record["outcome"], record["report_message"]), ("failed", "CancelledError"))

        asyncio.run(main())

    def test_cancelled_at_any_moment_it_runs_and_is_reported_or_does_not_run(self) -> None:
        async def main() -> None:
            ends: set[tuple[int, str, str | None]] = set()
            for turns in range(40):
                client, ran = AsyncHoldpoint.fake("approved"), 0

                async def act(_: Any) -> None:
                    nonlocal ran
                    ran += 1

                run = asyncio.ensure_future(client.run(Ask("x", "y"), act))
                for _ in range(turns):
                    await asyncio.sleep(0.0001)
                run.cancel()
                await asyncio.wait([run])
                for record in await client.audit():
                    # A claim without a report would be for somebody to look after.
                    self.assertNotEqual(record["execution"], "claimed", turns)
                    self.assertEqual(ran, 1 if record["execution"] == "succeeded" else ran if ran == 0 else -1, turns)
                    ends.add((ran, record["status"], record["execution"]))
            self.assertGreater(len(ends), 1)

        asyncio.run(main())


class Clients(unittest.TestCase):
    def test_the_modules_own_decorator_asks_by_the_client_in_use(self) -> None:
        @holdpoint.require_approval("send_mail")
        def send(to: str) -> str:
            return to

        with holdpoint.use(Holdpoint.fake("approved")) as client:
            self.assertEqual(send("ann"), "ann")
            with holdpoint.use(Holdpoint.fake("denied")), self.assertRaises(holdpoint.Denied):
                send("ann")
            send("bob")
            self.assertEqual([one["details"]["to"] for one in client.audit()], ["bob", "ann"])

    def test_url_and_key_come_from_the_environment_and_open_nothing(self) -> None:
        env = {
            "HOLDPOINT_URL": "http://127.0.0.1:1/prefix\n",
            "HOLDPOINT_KEY": "hpk_secret\n",
            "HOLDPOINT_FAKE": "approved",
        }
        with mock.patch.dict(os.environ, env):
            client = Holdpoint(retry_seconds=0)
        self.assertEqual(repr(client), "Holdpoint('http://127.0.0.1:1/prefix')")
        with self.assertRaises(holdpoint.Unreachable) as caught:
            client.run(Ask("x", "y"), lambda _: self.fail("it ran"))
        self.assertNotIn("hpk_secret", str(caught.exception))
        with mock.patch.dict(os.environ, {}, clear=True):
            self.assertEqual(repr(Holdpoint()), "Holdpoint('http://127.0.0.1:6000')")

    def test_wrong_settings_are_refused_without_showing_the_key(self) -> None:
        for url in (
            "127.0.0.1:6000",
            "ftp://x",
            "http://",
            "http://a:b@c",
            "http://x/?q",
            "http://x/a\r\nb",
            "http://x/#f",
        ):
            with self.subTest(url), self.assertRaises(ValueError):
                Holdpoint(url, "k")
        for key in ("a b", "a\r\nX-Other: 1", "schlüssel"):
            with self.assertRaises(holdpoint.Invalid) as caught:
                Holdpoint("http://x", key)
            self.assertNotIn(key, str(caught.exception))
        for seconds in (float("nan"), float("inf"), -1, "60"):
            # What is no time would never be over.
            bad: Any = seconds
            with self.subTest(seconds), self.assertRaises(holdpoint.Invalid):
                Holdpoint("http://x", retry_seconds=bad)
            with self.subTest(seconds), self.assertRaises(holdpoint.Invalid):
                Ask("x", "y", timeout_seconds=bad)
        with self.assertRaises(holdpoint.Invalid):
            Ask("x", "y", idempotency_key="two\r\nlines")
        with self.assertRaises(holdpoint.Invalid):
            Holdpoint.fake("approved").show("../keys")

    def test_a_fake_approves_nothing_by_itself(self) -> None:
        client = Holdpoint.fake()
        self.assertEqual(client.request(Ask("x", "y")).status, "pending")
        self.assertEqual(len(client.pending()), 1)

    def test_a_fake_is_made_of_answers_that_there_are_and_denies_what_it_has_none_for(self) -> None:
        wrong: list[Any] = ["approve", ("approved", "x"), {"x": "yes"}]
        for answer in wrong:
            with self.assertRaises(ValueError):
                Holdpoint.fake(answer)
        client = Holdpoint.fake({"x": "approved"})
        self.assertEqual(client.run(Ask("x", "y"), lambda _: 1), 1)
        with self.assertRaises(holdpoint.Denied):
            client.run(Ask("other", "y"), lambda _: self.fail("it ran"))
        by_ask = Holdpoint.fake(lambda ask: "auto_approved" if ask.details["n"] < 10 else "denied")
        self.assertEqual(by_ask.run(Ask("x", "y", {"n": 1}), lambda _: 1), 1)
        self.assertEqual(last(by_ask)["status"], "auto_approved")
        with self.assertRaises(holdpoint.Denied):
            by_ask.run(Ask("x", "y", {"n": 10}), lambda _: self.fail("it ran"))

    def test_no_thread_is_left_behind(self) -> None:
        asyncio.run(AsyncHoldpoint.fake("approved").audit())
        for thread in threading.enumerate():
            if thread.name == "holdpoint":
                thread.join(5)
                self.assertFalse(thread.is_alive())


if __name__ == "__main__":
    unittest.main()
