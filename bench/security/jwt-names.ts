import { newIssuer } from "../../test/support/issuer.ts";
import { text, texts } from "../servers/client.ts";
import { type Checks, must } from "./check.ts";
import type { Subject } from "./subject.ts";

/** Attacks by a client whose issuer lets it choose its subject, groups and claims. */
export const JWT_NAMES: Checks = {
  async "3.5 a JWT sent without the name of its field"(subject) {
    const signed = await mount(subject, "pasted", {});
    const jwt = await signed({ sub: "pasted" });
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    await subject.answers(400, "POST", "auth/pasted/login", { token: "", headers, body: jwt });
    await subject.answers(400, "POST", "auth/pasted/login", { token: "", body: { ["x".repeat(1_000_000)]: 1 } });
    const written = () => subject.lines().filter(({ path }) => path === "auth/pasted/login");
    await subject.until("the last log line", () => written().length === 4);
    const log = JSON.stringify(written());
    must(!log.includes(jwt), "the log contains the JWT");
    must(log.length < 20_000, `${log.length} characters are logged`);
    return "logged as a hash; lines are short";
  },

  async "3.6 logins without their role to avoid its quota"(subject) {
    await mount(subject, "unnamed", {});
    const quota = { path: "auth/unnamed", role: "r", rate: 2, interval: "10m" };
    await subject.call("POST", "sys/quotas/rate-limit/unnamed", { body: quota });
    for (const [at, body] of [{}, { role: "" }, { role: null }, { role: "R" }].entries()) {
      await subject.answers(at < 2 ? 400 : 429, "POST", "auth/unnamed/login", { token: "", body });
    }
    return "429 by the quota of the default role";
  },

  async "3.7 a Kelvin sign in place of a K"(subject) {
    const signed = await mount(subject, "kelvin", { groups_claim: "groups" });
    const { body } = await subject.call("GET", "sys/auth/kelvin");
    const fields = { name: "kelvin-kings", type: "external", policies: "kings" };
    const group = await subject.call("POST", "identity/group", { body: fields });
    const alias = { name: "kings", mount_accessor: text(body, "data", "accessor") };
    const canonical_id = text(group.body, "data", "id");
    await subject.call("POST", "identity/group-alias", { body: { ...alias, canonical_id } });
    const login = async (sub: string, groups: string) => {
      const jwt = await signed({ sub, groups: [groups] });
      return (await subject.answers(200, "POST", "auth/kelvin/login", { token: "", body: { role: "r", jwt } })).body;
    };
    const kevin = await login("kevin", "kings");
    must(texts(kevin, "auth", "identity_policies").includes("kings"), "the group gives nothing");
    const other = await login("\u212aevin", "\u212aings");
    must(text(other, "auth", "entity_id") !== text(kevin, "auth", "entity_id"), "it got the entity of kevin");
    must(texts(other, "auth", "identity_policies").length === 0, "it got the policies of kings");
    return "another entity, and no group";
  },

  async "3.8 values that a template does not insert"(subject) {
    const role = { claim_mappings: { team: "team" }, token_no_default_policy: true };
    const signed = await mount(subject, "chosen", role);
    const { body } = await subject.call("GET", "sys/auth/chosen");
    const team = `{{identity.entity.aliases.${text(body, "data", "accessor")}.metadata.team}}`;
    const policy = `
    path "cubbyhole/*" { capabilities = ["read", "list", "create", "update"] }
    path "cubbyhole/teams/${team}*" { capabilities = ["deny"] }
    path "cubbyhole/limited/${team}*" { capabilities = ["update"] required_parameters = ["reason"] }
    path "cubbyhole/own/${team}" { capabilities = ["delete"] }`;
    await subject.call("POST", "sys/policies/acl/chosen", { body: { policy } });
    for (const chosen of ["blue", "", "*", "+", "blue/", "blue/*", null]) {
      const jwt = await signed({ sub: `chosen-${chosen}`, ...(chosen !== null && { team: chosen }) });
      const fields = { token: "", body: { role: "r", jwt } };
      const token = text(
        (await subject.answers(200, "POST", "auth/chosen/login", fields)).body,
        "auth",
        "client_token",
      );
      await subject.answers(403, "GET", "cubbyhole/teams/blue", { token });
      await subject.answers(403, "POST", "cubbyhole/limited/blue", { token, body: { value: "x" } });
      await subject.answers(204, "POST", "cubbyhole/mine", { token, body: { value: "x" } });
      if (chosen !== "blue") await subject.answers(403, "DELETE", "cubbyhole/own/red", { token });
    }
    return "403: the rule denies all that begins like it";
  },
};

/** Mounts the method with the role `r`, and returns the signer of its issuer. */
async function mount(subject: Subject, path: string, role: object) {
  const issuer = await newIssuer("RS256");
  await subject.call("POST", `sys/auth/${path}`, { body: { type: "jwt" } });
  await subject.call("POST", `auth/${path}/config`, {
    body: { jwt_validation_pubkeys: issuer.pem, default_role: "r" },
  });
  const fields = { role_type: "jwt", user_claim: "sub", bound_audiences: "grove", token_policies: path, ...role };
  await subject.call("POST", `auth/${path}/role/r`, { body: fields });
  return issuer.sign;
}
