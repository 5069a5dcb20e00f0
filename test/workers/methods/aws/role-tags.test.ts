import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type cloudAt, enableCloud, VOCABULARIES } from "../../../support/cloud.ts";
import { initialized } from "../../../support/service.ts";

let root: string;

beforeAll(async () => {
  root = await initialized();
});

const MONTH = 2_764_800;

describe.each(VOCABULARIES)("role tags of a mount of the type $type", (words) => {
  let at: ReturnType<typeof cloudAt>;
  let count = 0;

  beforeEach(async () => {
    at = await enableCloud(root, `tags-${words.type}-${count++}`, words.type);
    await at.post("role/Web", {
      auth_type: words.vm,
      [words.bound_image_id]: "ami-1",
      role_tag: "cap",
      token_policies: "prod,dev",
      token_max_ttl: "2h",
    });
  });

  const tagOf = async (body: Record<string, unknown> = {}) => {
    const answer = await at.post("role/WEB/tag", body);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return String(answer.body.data.tag_value);
  };

  describe("are made", () => {
    it("with everything that they can say, signed", async () => {
      const answer = await at.post("role/web/tag", {
        policies: "PROD, dev,prod",
        max_ttl: "1h",
        instance_id: "I-0AB",
        disallow_reauthentication: true,
      });
      expect(answer.body.data.tag_key).toBe("cap");
      expect(answer.body.data.tag_value).toMatch(
        /^v1:[A-Za-z0-9+/]{11}=:r=web:d=true:m=false:p=dev,prod:i=i-0ab:t=3600:[A-Za-z0-9+/]{43}=$/,
      );
      expect(answer.body.warnings).toBeNull();
    });

    it("each another one, also when they say the same", async () => {
      expect(await tagOf()).not.toBe(await tagOf());
    });

    it("without policies, which leaves the role's, or with none, which leaves only default", async () => {
      expect(await tagOf({})).not.toContain("p=");
      for (const policies of [[], "", null]) expect(await tagOf({ policies })).toContain(":m=false:p=:");
    });

    it.each<[Record<string, unknown>, string]>([
      [{ policies: "admin" }, "policies on the tag must be a subset of the policies set on the role"],
      [{ policies: ["prod", "root"] }, "policies on the tag must be a subset of the policies set on the role"],
      [
        { allow_instance_migration: true, disallow_reauthentication: true },
        "cannot set both disallow_reauthentication and allow_instance_migration",
      ],
      [{ max_ttl: -1 }, 'error converting input for field "max_ttl": cannot provide negative value'],
      [{ instance_id: "i:1" }, "instance_id can't stand in a role tag"],
    ])("unless they ask for what the role or the tag can't have: %j", async (body, message) => {
      const answer = await at.post("role/web/tag", body);
      expect([answer.status, answer.body.errors]).toEqual([400, [message]]);
    });

    it("unless they are longer than a tag can be", async () => {
      const policies = Array.from({ length: 30 }, (_, index) => `policy-${index}`);
      await at.post("role/web", { token_policies: policies });
      const answer = await at.post("role/web/tag", { policies });
      expect([answer.status, answer.body.errors]).toEqual([
        400,
        ["role tag 'value' exceeding the limit of 255 characters"],
      ]);
    });

    it("for roles that exist and have tags", async () => {
      await at.post("role/plain", { auth_type: words.vm, bound_vpc_id: "v" });
      expect((await at.post("role/plain/tag")).body.errors).toEqual(["tag creation is not enabled for this role"]);
      expect((await at.post("role/Nobody/tag")).body.errors).toEqual(["entry not found for role nobody"]);
      expect((await at.get("role/web/tag")).status).toBe(405);
    });

    it("with warnings of what will not hold", async () => {
      const warnings = async (body: unknown) => (await at.post("role/web/tag", body)).body.warnings;
      expect(await warnings({ max_ttl: "3h" })).toEqual([
        "Given max TTL of 10800 is greater than the role maximum of 7200 seconds, and will be capped at login time.",
      ]);
      expect(await warnings({ max_ttl: MONTH + 1 })).toHaveLength(2);
      expect(await warnings({ allow_instance_migration: true })).toEqual([
        "Role does not allow instance migration. The tag does not either unless the role value is updated.",
      ]);
      await at.post("role/web", { allow_instance_migration: true });
      expect(await warnings({ allow_instance_migration: true })).toBeNull();
    });
  });

  describe.each(["roletag-denylist", "roletag-blacklist"])("are denied at %s", (list) => {
    const other = list === "roletag-denylist" ? "roletag-blacklist" : "roletag-denylist";
    const raw = (tag: string) => encodeURIComponent(tag);
    const encoded = (tag: string) => encodeURIComponent(btoa(tag));

    it.each([
      ["as they are", raw, encoded],
      ["as base64", encoded, raw],
    ] as const)("%s, and read and freed in either spelling", async (_, written, read) => {
      const tag = await tagOf();
      const before = Date.now();
      expect((await at.post(`${list}/${written(tag)}`)).status).toBe(204);
      expect((await at.list(other)).body.data.keys).toEqual([tag]);
      const { creation_time, expiration_time } = (await at.get(`${other}/${read(tag)}`)).body.data;
      expect(Date.parse(creation_time as string)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(expiration_time as string) - Date.parse(creation_time as string)).toBe(MONTH * 1000);
      expect((await at.remove(`${other}/${read(tag)}`)).status).toBe(204);
      expect((await at.get(`${list}/${written(tag)}`)).status).toBe(404);
      expect((await at.list(list)).status).toBe(404);
    });

    it("in a path that is not escaped", async () => {
      const tag = await tagOf();
      expect((await at.post(`${list}/${tag}`)).status).toBe(204);
      expect((await at.get(`${list}/${tag}`)).status).toBe(200);
    });

    it("for as long as any token of theirs can live", async () => {
      await at.post("role/web", { token_max_ttl: MONTH + 100 });
      const tag = await tagOf();
      const longer = await tagOf({ max_ttl: MONTH + 200 });
      for (const [each, seconds] of [
        [tag, MONTH + 100],
        [longer, MONTH + 200],
      ] as const) {
        await at.post(`${list}/${raw(each)}`);
        const { creation_time, expiration_time } = (await at.get(`${list}/${raw(each)}`)).body.data;
        expect(Date.parse(expiration_time as string) - Date.parse(creation_time as string)).toBe(seconds * 1000);
      }
    });

    it("again: only the end moves", async () => {
      const tag = await tagOf();
      await at.post(`${list}/${raw(tag)}`);
      const first = (await at.get(`${list}/${raw(tag)}`)).body.data;
      await at.post("role/web", { token_max_ttl: MONTH + 100 });
      await at.post(`${list}/${encoded(tag)}`);
      const second = (await at.get(`${list}/${raw(tag)}`)).body.data;
      expect(second.creation_time).toEqual(first.creation_time);
      expect(Date.parse(second.expiration_time as string)).toBeGreaterThan(Date.parse(first.expiration_time as string));
    });

    it("in one spelling: no other one is taken, so none gets past the list", async () => {
      const tag = await tagOf({ max_ttl: 60 });
      const spellings = [
        tag.replace("d=false:m=false", "m=false:d=false"),
        tag.replace("d=false", "d=0"),
        tag.replace("d=false", "d=F"),
        tag.replace("r=web", "r=web:r=web"),
        tag.replace("t=60", "t=60.5"),
        tag.replace("t=60", "t=060"),
        tag.replace("r=web", "r=Web"),
        ` ${tag}`,
        `${tag}=`,
        tag.replace("v1", "v2"),
        tag.replace("r=web:", ""),
        `${tag.slice(0, -5)}AAAA=`,
        tag.toUpperCase(),
      ];
      const paths = spellings.flatMap((spelling) => [raw(spelling), encoded(spelling)]);
      const answers = await Promise.all(paths.map((path) => at.post(`${list}/${path}`)));
      expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 400));
      expect((await at.list(list)).status).toBe(404);
    });

    it("only when they are genuine", async () => {
      const tag = await tagOf();
      await at.remove("role/web");
      expect((await at.post(`${list}/${raw(tag)}`)).body.errors).toEqual(['entry not found for "web"']);
      await at.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
      expect((await at.post(`${list}/${raw(tag)}`)).body.errors).toEqual(["role tag signature verification failed"]);
    });

    it("also freed when their role is gone", async () => {
      const tag = await tagOf();
      await at.post(`${list}/${raw(tag)}`);
      await at.remove("role/web");
      expect((await at.get(`${list}/${raw(tag)}`)).status).toBe(200);
      expect((await at.remove(`${list}/${raw(tag)}`)).status).toBe(204);
      expect((await at.get(`${list}/${raw(tag)}`)).status).toBe(404);
    });

    it("and listed in pages", async () => {
      const tags = (await Promise.all([tagOf(), tagOf(), tagOf()])).sort();
      for (const tag of tags) await at.post(`${list}/${raw(tag)}`);
      expect((await at.list(list, "&limit=2")).body.data.keys).toEqual(tags.slice(0, 2));
      expect((await at.list(list, `&after=${raw(tags[1] ?? "")}`)).body.data.keys).toEqual(tags.slice(2));
    });
  });

  it("of one mount mean nothing at another", async () => {
    const tag = await tagOf();
    const elsewhere = await enableCloud(root, `${at.path}-other`, words.type);
    await elsewhere.post("role/web", { auth_type: words.vm, bound_vpc_id: "v", role_tag: "cap" });
    expect((await elsewhere.post(`roletag-denylist/${encodeURIComponent(tag)}`)).body.errors).toEqual([
      "role tag signature verification failed",
    ]);
  });
});
