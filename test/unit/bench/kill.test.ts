import { describe, expect, it } from "vitest";
import { AnsweredChanges, AnswerLines } from "../../../bench/kill/changes.ts";
import { type Entry, expectedOf, Ledger, mayContain } from "../../../bench/kill/ledger.ts";
import { Choices } from "../../../bench/kill/writer.ts";

/** Three tokens, one below the other, and a lease of the last. */
function chain(): Record<"top" | "child" | "leaf" | "lease", Entry> {
  const ledger = new Ledger();
  const top = ledger.created("token", "top", null);
  const child = ledger.created("token", "child", top);
  const leaf = ledger.created("token", "leaf", child);
  return { top, child, leaf, lease: ledger.created("lease", "lease", leaf) };
}

const all = ({ top, child, leaf, lease }: ReturnType<typeof chain>) => [top, child, leaf, lease].map(expectedOf);

describe("an answered change", () => {
  const answer = (id: string | null, status = 204) => ({ status, headers: id === null ? {} : { "x-request-id": id } });
  const event = (id: string, path = "auth/token/create") => ({ request_id: id, path });

  it("must have one record", () => {
    const changes = new AnsweredChanges();
    changes.note("POST", "v1/auth/token/create", answer("a", 200));
    changes.note("DELETE", "v1/sys/policies/acl/x?y=z", answer("b"));
    changes.note("POST", "api/v2/organizations/kill/teams", answer("c", 201));
    changes.note("POST", "v1/sys/tidy", answer(null));
    expect(changes.findUnrecorded([event("a"), event("a"), event("b"), event("b", "other"), event("other")])).toEqual([
      "POST sys/tidy: the answer has no id of the request",
      "DELETE sys/policies/acl: answered, and has several records in the audit store",
      "POST organizations/kill/teams: answered, and has no record in the audit store",
    ]);
  });

  it("has at least its line in the log, where a node can be cut from the store", () => {
    const changes = new AnsweredChanges();
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    for (const id of [first, second]) changes.note("POST", "v1/auth/token/create", answer(id, 200));
    const stream = new AnswerLines();
    stream.note(`{"type":"response","time":"x","via":"http","request_id":"${first}","status":200}`);
    stream.note(`{"type":"request","time":"x","via":"http","request_id":"${second}"}`);
    expect(changes.findUnrecorded([], stream)).toHaveLength(1);
    expect(changes.onlyInStream).toBe(1);
    expect(changes.findUnrecorded([])).toHaveLength(2);
  });

  it("is none that was refused, or only reads", () => {
    const changes = new AnsweredChanges();
    changes.note("GET", "v1/auth/token/lookup-self", answer("a", 200));
    changes.note("POST", "v1/sys/leases/lookup", answer("b", 200));
    changes.note("POST", "v1/auth/token/create", answer("c", 503));
    expect([changes.size, changes.findUnrecorded([])]).toEqual([0, []]);
  });
});

describe("what must be true after a kill", () => {
  it("an entry lives until an ending of it, or of what is above it, is answered", () => {
    const entries = chain();
    expect(all(entries)).toEqual(["alive", "alive", "alive", "alive"]);
    entries.child.ending = "sent";
    expect(all(entries)).toEqual(["alive", "unknown", "unknown", "unknown"]);
    entries.child.ending = "answered";
    expect(all(entries)).toEqual(["alive", "dead", "dead", "dead"]);
  });

  it.each(["sent", "sent in background", "promised"] as const)("an ending that is %s says nothing yet", (ending) => {
    const entries = chain();
    entries.leaf.ending = ending;
    expect(all(entries)).toEqual(["alive", "alive", "unknown", "unknown"]);
  });

  it("an answered ending holds, whatever other endings were only sent", () => {
    const entries = chain();
    entries.top.ending = "answered";
    entries.child.ending = "sent";
    expect(all(entries)).toEqual(["dead", "dead", "dead", "dead"]);
  });

  it("a token that ended alone takes its leases along, and cuts its children off from what is above", () => {
    const entries = chain();
    Object.assign(entries.leaf, { ending: "answered", alone: true });
    expect(all(entries)).toEqual(["alive", "alive", "dead", "dead"]);
    Object.assign(entries.leaf, { ending: "none", alone: false });
    Object.assign(entries.child, { ending: "answered", alone: true });
    entries.top.ending = "answered";
    expect(all(entries)).toEqual(["dead", "dead", "alive", "alive"]);
  });

  it("whether it was detached matters only when an ancestor has ended too", () => {
    const entries = chain();
    Object.assign(entries.child, { ending: "sent", alone: true });
    expect(all(entries)).toEqual(["alive", "unknown", "alive", "alive"]);
    entries.top.ending = "answered";
    expect(all(entries)).toEqual(["dead", "dead", "unknown", "unknown"]);
  });

  it("a number is between what was answered and what was sent", () => {
    const number = new Ledger().number("uses");
    expect(mayContain(number, 0)).toBe(true);
    number.sent = 5;
    number.answered = 4;
    expect([3, 4, 5, 6, Number.NaN].map((found) => mayContain(number, found))).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it("a number is kept under its name", () => {
    const ledger = new Ledger();
    ledger.number("a").sent = 3;
    expect(ledger.number("a").sent).toBe(3);
    expect(ledger.number("b").sent).toBe(0);
  });
});

it("random choices come again with their seed, and differ with another", () => {
  const made = (seed: string) => {
    const choices = new Choices(seed);
    return Array.from({ length: 20 }, () => choices.below(1000));
  };
  expect(made("seed 0")).toEqual(made("seed 0"));
  expect(made("seed 0")).not.toEqual(made("seed 1"));
});
