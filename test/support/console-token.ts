import type { Token } from "../../client/answers.d.ts";

/** A token as the inventory answers it. */
export const consoleToken = (fields: Partial<Token> = {}): Token => ({
  accessor: "a1",
  display_name: "aws-web",
  path: "auth/aws/login",
  role: "web",
  mount: "auth/aws/",
  mount_accessor: "auth_aws_1",
  type: "service",
  policies: ["default", "fleet"],
  entity_id: "",
  created: "2026-11-22T10:00:00Z",
  expires: "2026-11-23T10:00:00Z",
  renewed: null,
  num_uses: 0,
  uses_left: 0,
  period: 0,
  explicit_max_ttl: 0,
  orphan: true,
  parent: null,
  children: 3,
  last_used: null,
  tree: "t1",
  metadata: {},
  ...fields,
});
