# Against the started service: HOLDPOINT_TEST_OPEN is the address of one without keys, HOLDPOINT_TEST_KEYS of one with
# keys for HOLDPOINT_TEST_AGENT, _OTHER (an agent too) and _OPERATOR, and the rules of test/client/python.test.ts.
import asyncio
import json
import os
import threading
import unittest
from pathlib import Path
from typing import Any

import holdpoint
from holdpoint import Ask, AsyncHoldpoint, Holdpoint

_given = {name: os.environ.get(f"HOLDPOINT_TEST_{name}", "") for name in ("OPEN", "KEYS", "AGENT", "OTHER", "OPERATOR")}


def setUpModule() -> None:
    if not all(_given.values()):
        raise unittest.SkipTest("no service is started for these tests")
    threading.Thread(target=decide, daemon=True).start()


def agent() -> Holdpoint:
    return Holdpoint(_given["KEYS"], _given["AGENT"])


def operator() -> Holdpoint:
    return Holdpoint(_given["KEYS"], _given["OPERATOR"])


def decide() -> None:
    """The person: does with each request what its details say."""
    person = operator()
    for event in person.follow(after=0, type="submitted"):
        record = person.show(str(event["confirmation_id"]))
        if record["status"] != "pending":
            continue
        match record["details"].get("wish"):
            case "approve":
                person.approve(record["id"], reason="go")
            case "deny":
                person.deny(record["id"], reason="not before the audit")
            case _:
                pass


class Keys(unittest.TestCase):
    def run_one(self, action: str, **options: Any) -> "tuple[Any, list[Any]]":
        ran: list[Any] = []
        details = {
            "wish": options.pop("wish", "approve"),
            "n": 1e16,
            "text": "\u20ac \U0001f600 \0 \u2028",
            "list": [True, None],
        }
        ask = Ask(action, "Do it", details, **options)
        try:
            agent().run(ask, ran.append)
        except holdpoint.HoldpointError as error:
            return error, ran
        self.assertEqual(ran, [details])
        return None, ran

    def test_an_approved_function_runs_once_and_its_outcome_is_on_record(self) -> None:
        client = agent()

        @client.require_approval("send_mail", describe=lambda details: f"Mail {details['to']}")
        def send(to: str, wish: str = "approve") -> str:
            return f"sent to {to}"

        self.assertEqual(send("ann"), "sent to ann")
        (record,) = operator().audit(1, action="send_mail")
        self.assertEqual(
            (record["execution"], record["description"], record["reason"]), ("succeeded", "Mail ann", "go")
        )
        self.assertEqual((record["requester"], record["resolved_by"]), ("mail-bot", "alice"))

    def test_a_coroutine_too(self) -> None:
        client = AsyncHoldpoint(_given["KEYS"], _given["AGENT"])

        @client.require_approval("send_letter")
        async def send(to: str, wish: str) -> str:
            raise OSError("no stamps")

        async def main() -> None:
            with self.assertRaisesRegex(OSError, "no stamps"):
                await send("ann", "approve")
            with self.assertRaises(holdpoint.Denied):
                await send("ann", "deny")

        asyncio.run(main())
        denied, failed = operator().audit(2, action="send_letter")
        self.assertEqual((denied["status"], denied["execution"]), ("denied", None))
        self.assertEqual((failed["execution"], failed["report_message"]), ("failed", "OSError: no stamps"))

    def test_a_denial_has_its_reason_and_who(self) -> None:
        error, ran = self.run_one("send_mail_2", wish="deny")
        self.assertEqual((error.code, error.by, error.reason, ran), ("denied", "alice", "not before the audit", []))

    def test_what_nobody_answers_expires(self) -> None:
        error, ran = self.run_one("quick", wish="nothing", timeout_seconds=1)
        self.assertEqual((error.code, ran), ("expired", []))

    def test_what_is_withdrawn_is_cancelled(self) -> None:
        client = agent()
        held = client.request(Ask("send_mail_3", "Do it", {"n": 1}))
        client.cancel(held.id, reason="changed my mind")
        with self.assertRaises(holdpoint.Cancelled) as caught:
            client.wait(held)
        self.assertEqual((caught.exception.by, caught.exception.reason), ("mail-bot", "changed my mind"))

    def test_what_a_grant_covers_is_approved_at_once(self) -> None:
        operator()._ask("POST", "/whitelist", {"action": "look_up"})
        error, ran = self.run_one("look_up", wish="nothing")
        self.assertEqual((error, len(ran)), (None, 1))
        (record,) = operator().audit(1, action="look_up")
        self.assertEqual((record["status"], record["execution"]), ("auto_approved", "succeeded"))

    def test_a_high_risk_action_wants_its_digest_and_gets_it(self) -> None:
        error, _ = self.run_one(
            "publish_package", requester="somebody else", on_behalf_of=" eve\ufeff", session_key="s:1"
        )
        self.assertIsNone(error)
        (record,) = operator().audit(1, action="publish_package")
        found = [
            record[name] for name in ("digest_required", "requester", "requested_as", "on_behalf_of", "session_key")
        ]
        self.assertEqual(found, [True, "mail-bot", "somebody else", "eve", "s:1"])

    def test_a_suspended_session_takes_nothing_and_claims_nothing(self) -> None:
        client = agent()
        held = client.request(Ask("send_mail_4", "Do it", {"wish": "approve"}, session_key="bad"))
        client.wait(held)
        operator()._ask("POST", "/sessions/bad/suspend", {})
        with self.assertRaises(holdpoint.Suspended):
            client.act(held, lambda _: self.fail("it ran"))
        error, ran = self.run_one("send_mail_5", session_key="bad")
        self.assertEqual((error.code, ran), ("suspended", []))

    def test_a_full_window_is_said_at_once(self) -> None:
        self.assertIsNone(self.run_one("rare")[0])
        error, ran = self.run_one("rare")
        self.assertEqual((error.code, error.problem, ran), ("rate_limited", "rate_limited", []))
        self.assertGreater(error.retry_after_seconds, 3000)

    def test_others_can_neither_read_nor_claim_it(self) -> None:
        client, other = agent(), Holdpoint(_given["KEYS"], _given["OTHER"])
        held = client.request(Ask("send_mail_6", "Do it", {"wish": "approve"}))
        client.wait(held)
        with self.assertRaises(holdpoint.Refused) as caught:
            other.show(held.id)
        self.assertEqual(caught.exception.code, "not_found")
        with self.assertRaises(holdpoint.ClaimRefused):
            other.act(held, lambda _: self.fail("it ran"))
        with self.assertRaises(holdpoint.Refused) as forbidden:
            client.approve(held.id)
        self.assertEqual(forbidden.exception.code, "forbidden")
        with self.assertRaises(holdpoint.Refused) as unknown:
            Holdpoint(_given["KEYS"], "hpk_nobody").show(held.id)
        self.assertEqual(unknown.exception.code, "unauthorized")
        self.assertEqual(client.act(held, lambda details: details["wish"]), "approve")
        with self.assertRaises(holdpoint.ClaimRefused) as twice:
            client.act(held, lambda _: self.fail("twice"))
        self.assertEqual(twice.exception.problem, "already_claimed")

    def test_people_see_what_waits_and_decide_it(self) -> None:
        client, person = agent(), operator()
        held = client.request(Ask("send_mail_7", "Do it", {"n": 1}))
        self.assertEqual([one["id"] for one in person.pending(action="send_mail_7")], [held.id])
        shown = person.show(held.id[-8:])
        self.assertEqual((shown["id"], shown["details"]), (held.id, {"n": 1}))
        self.assertEqual(person.deny(shown["id"], reason="no")["status"], "denied")
        self.assertEqual([event["type"] for event in person.follow(held.id)][0], "submitted")
        self.assertIn("denied", [event["type"] for event in client.follow(held.id)])
        again = Ask("send_mail_8", "Do it", {"n": 1}, idempotency_key="call-8")
        self.assertEqual(client.request(again).id, client.request(again).id)


class Open(unittest.TestCase):
    def test_the_service_has_the_digest_of_each_vector(self) -> None:
        client = Holdpoint(_given["OPEN"])
        shared = json.loads((Path(__file__).parents[3] / "test" / "vectors" / "digest.json").read_text("utf-8"))
        for vector in shared["vectors"]:
            of = dict(vector["of"])
            ask = Ask(of.pop("action"), "Do it", holdpoint.loads(of.pop("details")), **of)
            # Another digest than that of the service is refused inside.
            self.assertEqual(client.request(ask).digest, vector["digest"], vector["name"])

    def test_whoever_is_named_decides_where_there_are_no_keys(self) -> None:
        client = Holdpoint(_given["OPEN"])
        held = client.request(Ask("send_mail", "Do it", {"n": 2}, requester="bot"))
        self.assertEqual(client.approve(held.id, by="bob", remember="global")["resolved_by"], "bob")
        self.assertEqual(client.act(held, lambda details: details["n"]), 2)
        covered = client.request(Ask("send_mail", "Do it", {"n": 3}))
        self.assertEqual(covered.status, "auto_approved")
        self.assertEqual(client.wait(covered)["status"], "auto_approved")


if __name__ == "__main__":
    unittest.main()
