import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";

const CLIENT: Readonly<Record<string, Kind>> = {
  access_key: "text",
  max_retries: "int",
  sts_region: "text",
  use_sts_region_from_client: "bool",
  iam_server_id_header_value: "text",
  allowed_sts_header_values: "list",
};
const ROLE: Readonly<Record<string, Kind>> = {
  bound_ami_id: "list",
  bound_account_id: "list",
  bound_region: "list",
  bound_vpc_id: "list",
  bound_subnet_id: "list",
  bound_ec2_instance_id: "list",
  role_tag: "text",
  resolve_aws_unique_ids: "bool",
  allow_instance_migration: "bool",
  disallow_reauthentication: "bool",
  token_ttl: "duration",
  token_max_ttl: "duration",
  token_explicit_max_ttl: "duration",
  token_period: "duration",
  token_policies: "policies",
  token_bound_cidrs: "cidrs",
  token_no_default_policy: "bool",
  token_num_uses: "int",
  policies: "policies",
  ttl: "duration",
  max_ttl: "duration",
  period: "duration",
};
const ENDPOINTS = ["https://ec2.example", "https://gateway.example/ec2", ""] as const;
const ARNS = ["arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:*", "x", ""] as const;

/** The configuration and the roles of the cloud's method; nothing here calls a cloud. */
export async function cloud(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const mount = `auth/${prefix}aws`;
  await round.ask("POST sys/auth", { method: "POST", path: `sys/${mount}`, body: { type: "aws" } });
  const write = async (path: string, body: unknown) => {
    await round.ask(`POST ${path}`, { method: "POST", path: `${mount}/${path}`, body });
    await round.ask(`GET ${path}`, { method: "GET", path: `${mount}/${path}` });
  };
  await round.ask("GET config/client", { method: "GET", path: `${mount}/config/client` });
  for (let i = 0; i < 2; i++) {
    await write("config/client", { ...someFields(choices, CLIENT, 0.4), endpoint: choices.pick(ENDPOINTS) });
    await write("config/identity", {
      ...(choices.chance(0.6) && {
        iam_alias: choices.pick(["role_id", "unique_id", "canonical_arn", "full_arn", "x", ""]),
      }),
      ...(choices.chance(0.6) && { ec2_alias: choices.pick(["role_id", "instance_id", "image_id", "x"]) }),
      ...(choices.chance(0.4) && {
        iam_metadata: choices.pick(["default", ["account_id"], "x", [], "client_arn,inferred_hostname"]),
      }),
    });
    await write("config/sts/123456789012", { sts_role: choices.pick([...ARNS] as [string, ...string[]]) });
    const tidy = choices.pick([
      "config/tidy/identity-accesslist",
      "config/tidy/roletag-denylist",
      "config/tidy/identity-whitelist",
    ]);
    await write(tidy, someFields(choices, { safety_buffer: "duration", disable_periodic_tidy: "bool" }, 0.6));
  }
  await round.ask("LIST config/sts", { method: "LIST", path: `${mount}/config/sts` });
  await roles(round, mount);
  for (const path of ["config/client", "config/sts/123456789012", "config/tidy/identity-accesslist", "role/a"]) {
    await round.ask(`DELETE ${path}`, { method: "DELETE", path: `${mount}/${path}` });
    await round.ask(`GET ${path} after its end`, { method: "GET", path: `${mount}/${path}` });
  }
  await round.ask("DELETE sys/auth", { method: "DELETE", path: `sys/${mount}` });
}

async function roles(round: Round, mount: string): Promise<void> {
  const { choices } = round;
  const type = choices.pick(["ec2", "ec2", "iam", "", "x"]);
  for (let i = 0; i < 3; i++) {
    const body = {
      ...(i === 0 ? { auth_type: type, bound_vpc_id: "vpc-1" } : {}),
      ...someFields(choices, ROLE, 0.15),
      ...(type !== "ec2" && {
        bound_iam_principal_arn: choices.pick([...ARNS] as [string, ...string[]]),
        resolve_aws_unique_ids: false,
      }),
    };
    if (type !== "ec2")
      for (const name of Object.keys(body))
        if (name.startsWith("bound_") && name !== "bound_iam_principal_arn") Reflect.deleteProperty(body, name);
    if (choices.chance(0.2))
      Object.assign(body, { token_type: choices.pick(["service", "batch", "default", "", "other"]) });
    await round.ask(`POST role ${type}`, { method: "POST", path: `${mount}/role/a`, body });
    await round.ask(`GET role ${type}`, { method: "GET", path: `${mount}/role/A` });
  }
  await round.ask("LIST roles", { method: "LIST", path: `${mount}/roles` });
  const tag = someFields(
    choices,
    { policies: "policies", max_ttl: "duration", instance_id: "text", allow_instance_migration: "bool" },
    0.3,
  );
  await round.ask("POST role/:role/tag", { method: "POST", path: `${mount}/role/a/tag`, body: tag });
}
