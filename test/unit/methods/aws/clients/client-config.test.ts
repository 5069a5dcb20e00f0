import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS } from "../../../../../src/base/outbound-hosts.ts";
import {
  CLIENT_FIELDS,
  DEFAULT_CLIENT,
  readClientChange,
  readStsRole,
  stsRoleWarnings,
} from "../../../../../src/methods/aws/clients/client-config.ts";
import { readTidyChange, TIDY_FIELDS } from "../../../../../src/methods/aws/mount/expiring-list.ts";
import {
  DEFAULT_IDENTITY,
  IDENTITY_FIELDS,
  readIdentityChange,
} from "../../../../../src/methods/aws/rules/alias-and-metadata.ts";
import { valuesOf } from "../../../../support/values.ts";

const client = (body: Record<string, unknown>) => readClientChange(valuesOf(CLIENT_FIELDS, body), NO_PRIVATE_HOSTS);
const identity = (body: Record<string, unknown>) => readIdentityChange(valuesOf(IDENTITY_FIELDS, body));
const stsRole = (arn: string, externalId?: string) => readStsRole({ arn, externalId });
const refused = (message: string) => ({ ok: false, error: { code: "invalid_request", message } });

describe("the client configuration", () => {
  it("changes what was sent, and nothing else", () => {
    expect(client({})).toEqual({ ok: true, value: {} });
    expect(client({ access_key: null, sts_region: "", use_sts_region_from_client: "1", max_retries: "0" })).toEqual({
      ok: true,
      value: { stsRegion: "", useStsRegionFromClient: true, maxRetries: 0 },
    });
    for (const allowed_sts_header_values of [null, ""]) {
      expect(client({ allowed_sts_header_values })).toEqual({ ok: true, value: { allowedStsHeaderValues: [] } });
    }
    expect(DEFAULT_CLIENT.maxRetries).toBe(-1);
  });

  it("writes names of headers in their usual casing", () => {
    expect(client({ allowed_sts_header_values: "x-custom, X-AMZ-date" })).toMatchObject({
      value: { allowedStsHeaderValues: ["X-Custom", "X-Amz-Date"] },
    });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ access_key: "a/b" }, "access_key is not an access key id"],
    [{ access_key: "A".repeat(129) }, "access_key is not an access key id"],
    [{ secret_key: "swordfish\u200b" }, "secret_key is not a secret access key"],
    [{ secret_key: "s".repeat(257) }, "secret_key is not a secret access key"],
    [{ sts_region: "us/east" }, "sts_region is not the name of a region"],
    [{ iam_server_id_header_value: "a\r\nb" }, "iam_server_id_header_value can't be the value of a header"],
    [{ allowed_sts_header_values: "ok,not ok" }, "allowed_sts_header_values: item 2 is not the name of a header"],
    [
      { allowed_sts_header_values: Array.from({ length: 65 }, () => "x") },
      "allowed_sts_header_values holds at most 64 names",
    ],
    [{ max_retries: -2 }, "max_retries must be between -1 and 100"],
    [{ max_retries: 101 }, "max_retries must be between -1 and 100"],
    [{ endpoint: "http://a.example" }, "endpoint must be an https URL"],
    [{ iam_endpoint: "https://10.0.0.1" }, "iam_endpoint must not be a private, loopback or link-local address"],
    [{ sts_endpoint: "https://2130706433" }, "sts_endpoint must name its host in the usual spelling"],
  ])("refuses %j", (body, message) => expect(client(body)).toEqual(refused(message)));
});

describe("the identity configuration", () => {
  it("starts with the role's id and two names of metadata", () => {
    expect(DEFAULT_IDENTITY).toEqual({ iamAlias: "role_id", vmAlias: "role_id", iamMetadata: null, vmMetadata: null });
  });

  it("keeps lists in lower case, sorted, without repeats; default stands for whatever is default", () => {
    expect(
      identity({ iam_metadata: "Client_ARN,account_id, client_arn", vm_metadata: ["default"], vm_alias: "image_id" }),
    ).toEqual({
      ok: true,
      value: { vmAlias: "image_id", iamMetadata: ["account_id", "client_arn"], vmMetadata: null },
    });
    expect(identity({ iam_metadata: [] })).toEqual({ ok: true, value: { iamMetadata: [] } });
    expect(identity({ iam_metadata: "" })).toEqual({ ok: true, value: { iamMetadata: [] } });
  });

  const IAM_NAMES =
    "account_id, auth_type, canonical_arn, client_arn, client_user_id, inferred_cloud_region, inferred_entity_id, inferred_entity_type";
  it.each<[Record<string, unknown>, string]>([
    [{ iam_alias: "x" }, 'iam_alias of "x" not in set of allowed values: [role_id unique_id full_arn]'],
    [{ iam_alias: "<x>" }, "iam_alias not in set of allowed values: [role_id unique_id full_arn]"],
    [
      { iam_alias: "full_arn", vm_alias: "unique_id" },
      'vm_alias of "unique_id" not in set of allowed values: [role_id instance_id image_id]',
    ],
    [
      { iam_metadata: "default,account_id" },
      `["account_id" "default"] contains default - default can't be used in combination with other fields`,
    ],
    [
      { iam_metadata: "shoe_size,account_id" },
      `"account_id, shoe_size" contains an unavailable field, please select from "${IAM_NAMES}"`,
    ],
    [{ iam_metadata: ["a secret"] }, `iam_metadata contains an unavailable field, please select from "${IAM_NAMES}"`],
    [
      { vm_metadata: "client_arn" },
      '"client_arn" contains an unavailable field, please select from "account_id, auth_type, image_id, instance_id, region"',
    ],
  ])("refuses %j", (body, message) => expect(identity(body)).toEqual(refused(message)));
});

describe("tidy settings", () => {
  it("take durations, and not negative ones", () => {
    expect(readTidyChange(valuesOf(TIDY_FIELDS, { safety_buffer: "1h" }))).toEqual({
      ok: true,
      value: { safetyBuffer: 3600 },
    });
    expect(readTidyChange(valuesOf(TIDY_FIELDS, { safety_buffer: null, disable_periodic_tidy: "true" }))).toEqual({
      ok: true,
      value: { disablePeriodicTidy: true },
    });
    expect(readTidyChange(valuesOf(TIDY_FIELDS, { safety_buffer: "-1h" })).ok).toBe(false);
  });
});

describe("a role to assume", () => {
  it("is bounded text", () => {
    expect(stsRole("")).toEqual(refused("sts role cannot be empty"));
    expect(stsRole("arn:aws:iam::1:role/x y")).toEqual(refused("sts role is not an ARN"));
    expect(stsRole("a".repeat(3000)).ok).toBe(false);
    for (const externalId of ["x", "a b", "é".repeat(3), "x".repeat(1225)]) {
      expect(stsRole("arn:aws:iam::1:role/a", externalId).ok).toBe(false);
    }
    expect(stsRole("arn:aws:iam::1:role/a", "a=b+c,d.e@f:g/h-i_j").ok).toBe(true);
  });

  it("is warned of when it can't work for the account", () => {
    const warnings = (arn: string) => stsRoleWarnings("123456789012", arn).join();
    expect(warnings("arn:aws:iam::123456789012:role/satellite")).toBe("");
    expect(warnings("arn:aws:iam::210987654321:role/satellite")).toContain("another account");
    expect(warnings("arn:aws:iam::123456789012:user/x")).toContain("not the ARN of a role");
    expect(warnings("satellite")).toContain("not the ARN of a role");
  });
});
