import { type Access, call } from "../servers/call.ts";
import { expectedOf, type Ledger, type LedgerToken, mayHold } from "./ledger.ts";
import { type Kept, RENEWAL_STEP_SECONDS, USES } from "./writer.ts";

/** Asks the server for everything in `tokens` and for all numbers; what is not as it was answered, in words. */
export async function findBroken(
  root: Access,
  ledger: Ledger,
  tokens: readonly LedgerToken[],
  kept: ReadonlyMap<string, Kept>,
): Promise<string[]> {
  const broken: string[] = [];
  for (const token of tokens) {
    const expected = expectedOf(token);
    if (expected === "unknown") continue;
    const { status } = await call({ place: root.place, token: token.token }, "GET", "auth/token/lookup-self");
    if (status !== (expected === "alive" ? 200 : 403))
      broken.push(`a token that must be ${expected} answers ${status}`);
  }
  for (const [name, number] of ledger.numbers) {
    const [writer = "", what = ""] = name.split(" ");
    const owner = kept.get(writer);
    const found = owner ? await readNumber(root, writer, what, owner) : 0;
    if (!mayHold(number, found)) {
      broken.push(`${what}: ${found} is there, ${number.answered} was answered, ${number.sent} sent`);
    }
    // What had no answer has now turned out to have happened or not; counting goes on from there.
    number.sent = found;
    number.answered = found;
  }
  return broken;
}

/** Reads what a writer counts up. Nothing that it wrote yet reads as 0. */
async function readNumber(root: Access, writer: string, what: string, kept: Kept): Promise<number> {
  switch (what) {
    case "policy": {
      const { body } = await call(root, "GET", `sys/policies/acl/${writer}`);
      return Number(/^# (\d+)/.exec(String(body?.data?.policy ?? ""))?.[1] ?? 0);
    }
    case "cubbyhole": {
      const { body } = await call({ place: root.place, token: kept.maker.token }, "GET", "cubbyhole/number");
      return Number(body?.data?.value ?? 0);
    }
    case "uses": {
      const { body } = await call(root, "POST", "auth/token/lookup", { token: kept.counted });
      return USES - Number(body?.data?.num_uses);
    }
    case "renewals": {
      const { body } = await call(root, "POST", "auth/token/lookup", { token: kept.renewed });
      return body?.data?.last_renewal_time === undefined ? 0 : Math.ceil(Number(body.data.ttl) / RENEWAL_STEP_SECONDS);
    }
    default:
      throw new Error("a number that nobody can read");
  }
}
