import { describe, expect, it } from "vitest";
import page from "../../../docs/compatibility.md?raw";
import { CLIENT_FIELDS } from "../../../src/methods/aws/clients/client-config.ts";
import { LOGIN_FIELDS } from "../../../src/methods/aws/login/fields.ts";
import { TIDY_FIELDS } from "../../../src/methods/aws/mount/expiring-list.ts";
import { ROLE_TAG_FIELDS } from "../../../src/methods/aws/routes/roles.ts";
import { IDENTITY_FIELDS } from "../../../src/methods/aws/rules/alias-and-metadata.ts";
import { CLOUD_ROLE_FIELDS } from "../../../src/methods/aws/rules/role.ts";
import { ROUTES } from "../../support/routes.ts";

/** The path as the page writes it: names without their patterns. */
const written = (path: string) => path.replace("{.+/tune}", "/tune").replace(/\{[^}]*\}+/g, "");

describe("docs/compatibility.md", () => {
  const endpoints = [...new Set(ROUTES.map(({ path }) => written(path)))].sort();

  it.each(endpoints)("names %s", (path) => expect(page).toContain(`\`${path}\``));

  it.each([
    ["config/client", CLIENT_FIELDS],
    ["config/identity", IDENTITY_FIELDS],
    ["config/tidy/identity-accesslist", TIDY_FIELDS],
    ["role/:role", CLOUD_ROLE_FIELDS],
    ["role/:role/tag", ROLE_TAG_FIELDS],
    ["login", LOGIN_FIELDS],
  ])("has a line for every field of %s, and for no other", (path, { shape }) => {
    const section = page.split(`\n### \`${path}\``)[1]?.split("\n#")[0] ?? "";
    // Names stand before the default in parentheses, or before the colon.
    const heads = [...section.matchAll(/^- (`[^(:]*)(?:[(:]|$)/gm)].map(([, head = ""]) => head);
    const fields = heads.flatMap((head) => [...head.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
    expect(fields.sort()).toEqual(Object.keys(shape).sort());
  });
});
