import { describe, expect, it } from "vitest";
import { toDoText, unknownText } from "../../../console/health/check-urgency.ts";
import {
  attemptOf,
  failureMark,
  heldUntil,
  leasesLeftText,
  revocationTextOf,
  serviceOf,
} from "../../../console/leases/lease-text.ts";

describe("a lease whose target does not accept its end", () => {
  const lease_id = "db/creds/app/x.1";

  it("is of the service that its id begins with", () => {
    expect(serviceOf(lease_id)).toBe("db");
    expect(serviceOf("odd")).toBe("");
  });

  it("is marked in the list of its folder with its error, and each folder above it has the number", () => {
    const failing = [
      { lease_id, error: "no route", next_attempt: "2026-11-22T05:00:10Z" },
      { lease_id: "db/creds/app/y.1", error: "refused", next_attempt: null },
    ];
    expect(failureMark(lease_id, failing)).toEqual({ tag: "fails, tried again", error: "no route" });
    expect(failureMark("db/creds/app/y.1", failing)).toEqual({ tag: "irrevocable", error: "refused" });
    expect(failureMark("db/creds/app/z.1", failing)).toBeNull();
    expect(failureMark("db/", failing)?.tag).toBe("2 leases fail");
    expect(failureMark("db/creds/app/", failing.slice(1))?.tag).toBe("1 lease fails");
    expect(failureMark("db/creds/ap/", failing)).toBeNull();
  });

  it("is sent again at a time, or is due once that has passed: the page may stand for long", () => {
    const next = "2026-11-22T05:00:10Z";
    const at = Date.parse(next);
    expect(attemptOf({ next_attempt: next }, at - 1)).toEqual(["sent again", next]);
    expect(attemptOf({ next_attempt: next }, at)).toEqual(["due to be sent again now", null]);
    expect(attemptOf({ next_attempt: null }, at)).toEqual(["irrevocable: nothing is sent any more", null]);
  });

  it("is foretold for what the lease is of", () => {
    expect(revocationTextOf(undefined)).toMatch(/the token ends, with everything below it/);
    expect(revocationTextOf("https://db.example.com/revoke")).toMatch(/^The lease ends, and .* asked again/);
    expect(revocationTextOf("https://db.example.com/revoke")).not.toMatch(/token/);
  });

  it("is in the sentence that says how many tokens ended", () => {
    const left = { waiting: 0, failing: 0, removed: 0, more: false };
    expect(leasesLeftText(left)).toBe("");
    const removed = "1 of their leases was removed by force, without an answer of the target";
    expect(leasesLeftText({ ...left, removed: 1 })).toBe(removed);
    expect(leasesLeftText({ ...left, waiting: 1, removed: 1 })).toBe(`1 of their leases has not ended, and ${removed}`);
    expect(leasesLeftText({ ...left, failing: 11 })).toBe(
      "11 of their leases have not ended: not accepted by their targets",
    );
    expect(leasesLeftText({ ...left, waiting: 1 })).toBe("1 of their leases has not ended");
    const some = "12 of their leases have not ended: 11 of them not accepted by their targets";
    expect(leasesLeftText({ ...left, waiting: 1, failing: 11 })).toBe(some);
    expect(leasesLeftText({ ...left, more: true })).toBe("some of their leases have not ended");
  });
});

it("the page Health begins with what there is to do, the most urgent first", () => {
  const check = (title: string, state: string) => ({ title, state });
  expect(toDoText([check("Clock", "ok")])).toBe("");
  expect(toDoText([check("Clock", "ok"), check("Leases", "attention")])).toBe("1 thing to do: Leases.");
  const two = [check("Leases", "attention"), check("Backups", "failing")];
  // What can't be known yet is nothing to do.
  const unknown = [check("Tidy", "unknown"), check("Leases", "attention"), check("Lists", "new state")];
  expect([toDoText(unknown), unknownText(unknown)]).toEqual(["1 thing to do: Leases.", "Not known: Tidy, Lists."]);
  expect(unknownText([check("Clock", "ok")])).toBe("");
  expect(toDoText(two)).toBe("2 things to do: Backups, Leases.");
});

it("a lease that a token holds ends with the token, if that is earlier", () => {
  const [early, late] = ["2026-11-22T10:00:00Z", "2026-11-22T12:00:00.000Z"];
  expect(heldUntil(late, early)).toBe(early);
  expect(heldUntil(early, late)).toBe(early);
  expect(heldUntil(late, null)).toBe(late);
});
