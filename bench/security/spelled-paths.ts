import { type Checks, must, tokenWith } from "./check.ts";

/** Longest time for an answer about a path with many spellings (ms). */
const PROMPT_MS = 4_000;

const ALL = '["create", "read", "update", "delete", "list", "sudo"]';

/** Attacks with different spellings of one path. */
export const SPELLED_PATHS: Checks = {
  async "a denied name in another case"(subject) {
    await subject.call("POST", "sys/auth/cased", { body: { type: "jwt" } });
    const role = { role_type: "jwt", user_claim: "sub", bound_subject: "ci" };
    await subject.answers(204, "POST", "auth/cased/role/admin", { body: role });
    await subject.call("POST", "sys/policies/acl/cased", { body: { policy: 'path "x" { capabilities = ["read"] }' } });
    await subject.call("POST", "identity/entity/name/Cased", { body: {} });
    const denied = ["sys/policies/acl/CASED", "auth/cased/role/ADMIN", "identity/entity/name/cased"];
    const rules = [
      `path "*" { capabilities = ${ALL} }`,
      ...denied.map((path) => `path "${path}" { capabilities = ["deny"] }`),
    ];
    const token = await tokenWith(subject, "other-case", rules.join("\n"));
    for (const path of [
      "sys/policies/acl/cased",
      "sys/policy/Cased",
      "auth/cased/role/admin",
      "identity/entity/name/Cased",
    ]) {
      for (const method of ["GET", "DELETE"]) await subject.answers(403, method, path, { token });
    }
    return "403 in every case";
  },

  async "a list with a slash under a deny without one"(subject) {
    const rules = `path "sys/*" { capabilities = ${ALL} } path "sys/policies/+" { capabilities = ["deny"] }`;
    const token = await tokenWith(subject, "no-lists", rules);
    for (const path of ["sys/policies/acl", "sys/policies/acl/"]) await subject.answers(403, "LIST", path, { token });
    return "403 with and without the slash";
  },

  // This attack is last: if it succeeds, the server answers no request for a while.
  async "3.3 a path of many words that have two spellings"(subject) {
    const token = await tokenWith(subject, "one-deny", 'path "elsewhere" { capabilities = ["deny"] }');
    const path = `auth/${"identity-accesslist/".repeat(40)}x`;
    const attacks = [
      ["GET", path],
      ["LIST", path],
      ["GET", path.replaceAll("identity-accesslist", "roletag-denylist")],
      ["POST", "sys/capabilities-self", { paths: [path] }],
      ["POST", "sys/explain/access-self", { path }],
    ] as const;
    for (const [method, asked, body] of attacks) {
      const timeoutMs = PROMPT_MS;
      const answers = await Promise.allSettled([
        subject.call(method, asked, { token, timeoutMs, ...(body && { body }) }),
        subject.call("GET", "sys/health", { token: "", timeoutMs }),
      ]);
      const [answered, health] = answers.map((one) => (one.status === "fulfilled" ? one.value.status : "nothing"));
      must(answered === (body ? 200 : 403), `${method} ${asked.slice(0, 40)} was answered with ${answered}`);
      must(health === 200, `sys/health was answered with ${health} meanwhile`);
    }
    return "answered at once, and so is sys/health";
  },
};
