import { expect, it } from "vitest";
import { TABLES } from "../../../src/app/routes.ts";

/** Names of fields for what people paste: tokens, keys, signed documents, in base64 or of a fixed form. */
const PASTED: ReadonlySet<string> = new Set([
  ...["token", "accessor", "cause", "jwt", "pkcs7", "identity", "signature", "iam_request_url", "iam_request_body"],
  ...["access_key", "secret_key", "key_ring"],
]);

/** Fields that are read otherwise, and how. */
const OTHERWISE: Readonly<Record<string, string>> = {
  "explain/login identity": "is base64, or JSON",
  "sys/tokens/find token": "is read both ways: a secret-id that was chosen may have white space in it",
  ...Object.fromEntries(
    [
      "lookup",
      "renew",
      "revoke",
      "revoke-orphan",
      "sys/capabilities",
      "sys/explain/access",
      "sys/explain/rules",
      "sys/wrapping/unwrap",
    ].map((path) => [`${path} token`, "is read by readToken"]),
  ),
  "sys/wrapping/rewrap token": "is read by readToken",
  ...Object.fromEntries(
    ["lookup-self", "renew-self", "revoke-self", "sys/capabilities-self"].map((path) => [
      `${path} token`,
      "is not read",
    ]),
  ),
};

const READ = [...TABLES.fixed.routes, ...[...TABLES.byMountType.values()].flatMap(({ routes }) => routes)].flatMap(
  (route) => {
    if (route.access === "open") return [];
    const fields = route.fields.entries.filter(([name]) => PASTED.has(name));
    return fields.map(([name, field]) => ({ at: `${route.path} ${name}`, read: field.read(" a\t\r\n\u00a0b\ufeff ") }));
  },
);

it("every field for a token, a key or a signed document is read without white space", () => {
  const kept = READ.filter(({ read }) => read.ok && read.value !== "ab").map(({ at }) => at);
  expect([...new Set(kept)].sort()).toEqual(Object.keys(OTHERWISE).sort());
  expect(READ.length).toBeGreaterThan(Object.keys(OTHERWISE).length + 20);
});
