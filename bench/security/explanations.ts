import { text } from "../servers/client.ts";
import { type Checks, createToken, must, repeated } from "./check.ts";

/** Attempts to obtain information from access explanations, lists of refused logins and token filters. */
export const EXPLANATIONS: Checks = {
  async "3 an access explanation for another token"(subject) {
    const policy = 'path "kept/*" { capabilities = ["read"] }';
    await subject.call("POST", "sys/policies/acl/of-another", { body: { policy } });
    const { accessor } = await createToken(subject, { policies: ["of-another"] });
    const { token } = await createToken(subject, {});
    await subject.answers(403, "POST", "sys/explain/access", {
      token,
      body: { accessor, path: "kept/x" },
    });
    const own = await subject.answers(200, "POST", "sys/explain/access-self", { token, body: { path: "kept/x" } });
    must(!JSON.stringify(own.body).includes("of-another"), "the explanation names a policy of another token");
    return "403; a token sees only its own policies";
  },

  async "3 an access explanation without using up a use"(subject) {
    const { token } = await createToken(subject, { num_uses: 2 });
    const ask = () => subject.call("POST", "sys/explain/access-self", { token, body: { path: "kept/x" } });
    const statuses = await repeated(3, ask);
    must(statuses.join() === "200,200,403", `answered ${statuses.join(", ")}`);
    return "each explanation costs one use";
  },

  async "3 client texts in the list of refused logins"(subject) {
    await subject.call("POST", "sys/auth/refusing", { body: { type: "jwt" } });
    const body = { role_type: "jwt", user_claim: "sub", bound_subject: "x", policies: "default" };
    const { status: written } = await subject.call("POST", "auth/refusing/role/web", { body });
    must(written === 204, `the role was answered with ${written}`);
    const claims = Buffer.from('{"sub":"made-up-subject"}').toString("base64url");
    for (let n = 0; n < 60; n++) {
      const role = n % 2 === 0 ? "web" : `made-up-${n}`;
      const login = { role, jwt: `eyJhbGciOiJSUzI1NiJ9.${claims}.AAAA` };
      await subject.call("POST", "auth/refusing/login", { token: "", body: login });
    }
    const listed = await subject.call("GET", "auth/refusing/explain/refused");
    const shown = JSON.stringify(listed.body);
    must(listed.status === 200 && shown.includes("first_time"), "no refusal is listed");
    must(!shown.includes("made-up") && !shown.includes(claims), "the list contains a text of the client");
    const { token } = await createToken(subject, {});
    await subject.answers(403, "GET", "auth/refusing/explain/refused", { token });
    return "counted by failed check, without client texts";
  },

  async "3 a token as the value of a filter"(subject) {
    const { token } = await createToken(subject, {});
    for (const [name, value] of [
      ["display_name", `${token}*`],
      ["path_prefix", `auth/${token}`],
      ["metadata", { owner: token }],
      ["search", token],
    ] as const) {
      const body = { [name]: value, dry_run: false, expected_count: 0 };
      const refused = await subject.answers(400, "POST", "sys/tokens/revoke", { body });
      must(!JSON.stringify(refused.body).includes(token), "the refusal repeats the token");
    }
    const jobs = JSON.stringify((await subject.call("GET", "sys/tokens/jobs")).body);
    must(!jobs.includes(token), "a job stores the token");
    const found = await subject.call("POST", "sys/tokens/find", { body: { token } });
    must(text(found.body, "data", "token", "accessor") !== "", "sys/tokens/find does not know it");
    return "400; the token is not stored";
  },
};
