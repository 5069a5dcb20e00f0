import { describe, expect, it } from "vitest";
import { entityName, namesOfEntities } from "../../../console/entity-names.ts";
import { entitiesIn } from "../../../console/tokens/revocation-preview.ts";
import { detailText, namedAncestor, titleOf } from "../../../console/tokens/token-name.ts";
import { consoleToken } from "../../support/console-token.ts";

const GENERATED = "entity_8fbd5f35e2ad81e7a1e8.root";

describe("the name of an entity", () => {
  it("is the one that it was given, or what its logins call it, and a name that a login copied before its sub", () => {
    const alias = { name: "u-17", metadata: {} };
    expect(entityName({ name: "checkout", aliases: [alias] })).toBe("checkout");
    expect(entityName({ name: GENERATED, aliases: [alias] })).toBe("u-17");
    expect(entityName({ name: GENERATED, aliases: [{ ...alias, metadata: { name: "dana.doe" } }] })).toBe("dana.doe");
    expect(entityName({ name: GENERATED, aliases: [{ ...alias, metadata: { role_name: "deploy" } }] })).toBe("deploy");
    expect(entityName({ name: GENERATED, aliases: [] })).toBe(GENERATED);
    expect(entityName({ name: GENERATED, aliases: [{ name: "u-17", metadata: null }] })).toBe("u-17");
  });

  it("is read in one call for all that a page asks about, a hundred at most in each, and is unknown without rights", async () => {
    const asked: (readonly string[])[] = [];
    const answering = (entities: Readonly<Record<string, { name: string; aliases: [] }>>) =>
      namesOfEntities(async (ids) => {
        asked.push(ids);
        return entities;
      });
    const names = answering({ a: { name: "web", aliases: [] } });
    await Promise.all([names.ask(["a"]), names.ask(["a", "gone"])]);
    expect(asked).toEqual([["a", "gone"]]);
    expect([names.of("a"), names.of("gone"), names.of("b")]).toEqual(["web", "", undefined]);
    await names.ask(Array.from({ length: 230 }, (_, at) => `id-${at}`));
    expect(asked.slice(1).map((ids) => ids.length)).toEqual([100, 100, 30]);
    const refused = answering({});
    await refused.ask(["a"]);
    await refused.ask(["a"]);
    expect(refused.of("a")).toBe("");
    expect(asked).toHaveLength(5);
  });

  it("is asked for of owners that are entities alone", () => {
    const id = "8fbd5f35-e2ad-81e7-a1e8-0123456789ab";
    const owner = ["ledger", id, ""].map((key) => ({ key, count: 1 }));
    expect(entitiesIn({ by: { owner, type: [], role: [], mount: [] } })).toEqual([id]);
  });
});

describe("a token without a name", () => {
  const plain = { display_name: "token", path: "auth/token/create", policies: ["default", "deploy"] };
  const web = consoleToken({ accessor: "w", display_name: "token-web" });
  const middle = consoleToken({ ...plain, accessor: "m", parent: "w" });
  const leaf = consoleToken({ ...plain, accessor: "l", parent: "m" });
  const known = new Map([web, middle, leaf].map((one) => [one.accessor, one]));

  it("is told from others by the next ancestor with a name, its policies and the path that made it", () => {
    expect(namedAncestor(leaf, known)).toBe("token-web");
    expect(detailText(leaf, "token-web")).toBe("below token-web · deploy");
    expect(detailText({ ...leaf, path: "auth/token/create/ci", policies: ["default"] })).toBe(
      "default · auth/token/create/ci",
    );
    expect(detailText({ ...leaf, policies: [] })).toBe("");
  });

  it("has no such ancestor where none is known, and needs none where its metadata tell it", () => {
    expect(namedAncestor(leaf, new Map([[leaf.accessor, leaf]]))).toBe("");
    expect(namedAncestor(web, known)).toBe("");
    expect(detailText({ ...leaf, metadata: { team: "a", env: "b", x: "c" } })).toBe("team=a · env=b");
    expect(detailText(web)).toBe("");
  });

  it("is said to be a wrapping token in the title of its page", () => {
    expect(titleOf(consoleToken({ display_name: "", policies: ["response-wrapping"] }))).toBe("wrapping token");
    expect([titleOf(web), titleOf(leaf)]).toEqual(["token-web", "token"]);
  });
});
