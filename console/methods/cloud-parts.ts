import type { Field, FieldGroup } from "../records/field.ts";
import type { Part } from "../records/part.ts";
import type { TerraformResource } from "../records/request-commands.ts";
import { identityFields } from "./pasted-login.ts";
import { LOGIN_CHECK, OPEN_BAO_ONLY, REFUSED_LOGINS, ROLE_LOSS, TOKENS } from "./role-fields.ts";

/** The provider's resources, which use AWS's words only. */
const TERRAFORM = {
  roles: {
    type: "vault_aws_auth_backend_role",
    mount: "backend",
    name: "role",
    renamed: Object.fromEntries(
      [
        ...["bound_iam_principal_arn", "bound_account_id", "bound_region", "bound_ami_id", "bound_ec2_instance_id"],
        ...["bound_iam_instance_profile_arn", "bound_iam_role_arn", "bound_vpc_id", "bound_subnet_id"],
      ].map((name) => [name, `${name}s`]),
    ),
    lacks: OPEN_BAO_ONLY,
  },
  client: {
    type: "vault_aws_auth_backend_client",
    mount: "backend",
    renamed: { endpoint: "ec2_endpoint" },
    lacks: ["identity_token_key"],
  },
  identity: { type: "vault_aws_auth_backend_config_identity", mount: "backend" },
  accounts: { type: "vault_aws_auth_backend_sts_role", mount: "backend", name: "account_id" },
  certificates: { type: "vault_aws_auth_backend_cert", mount: "backend", name: "cert_name" },
} as const satisfies Readonly<Record<string, TerraformResource>>;

/** Parts of the cloud method, in the words of one of its types. */
export function cloudParts(type: "cloud" | "aws"): readonly Part[] {
  const word = (cloud: string, aws: string): string => (type === "aws" ? aws : cloud);
  const instances = word("vm", "ec2");
  const inferred = word("vm_instance", "ec2_instance");
  const ofInstances = ["auth_type", instances] as const;
  const ofPrincipals = ["auth_type", "iam"] as const;
  const inTerraform = (part: keyof typeof TERRAFORM) => (type === "aws" ? { terraform: TERRAFORM[part] } : {});
  const inferring = ["inferred_entity_type", inferred] as const;
  const role: readonly Field[] = [
    { name: "auth_type", label: "Who logs in", kind: "choice", choices: ["iam", instances], fixed: true },
    { name: "bound_iam_principal_arn", label: "Principals, by ARN", kind: "names", when: ofPrincipals },
    {
      name: word("resolve_cloud_unique_ids", "resolve_aws_unique_ids"),
      label: "Compare principals by their unique id",
      kind: "flag",
      usual: "true",
      when: ofPrincipals,
      hint: "A principal that is made again under the same name is another one.",
    },
    {
      name: "inferred_entity_type",
      label: "Taken for an instance",
      kind: "choice",
      choices: ["", inferred],
      when: ofPrincipals,
    },
    {
      name: word("inferred_cloud_region", "inferred_aws_region"),
      label: "Region of that instance",
      kind: "text",
      when: inferring,
    },
    { name: "bound_account_id", label: "Accounts", kind: "names" },
    { name: "bound_region", label: "Regions", kind: "names" },
    { name: word("bound_image_id", "bound_ami_id"), label: "Images", kind: "names" },
    { name: word("bound_vm_instance_id", "bound_ec2_instance_id"), label: "Instances", kind: "names" },
    { name: "bound_iam_instance_profile_arn", label: "Instance profiles, by ARN", kind: "names" },
    { name: "bound_iam_role_arn", label: "Roles of instances, by ARN", kind: "names" },
    { name: "bound_vpc_id", label: "VPCs", kind: "names" },
    { name: "bound_subnet_id", label: "Subnets", kind: "names" },
    { name: "role_tag", label: "Key of the tag that narrows it", kind: "text", when: ofInstances },
    {
      name: "allow_instance_migration",
      label: "An instance may log in again after a move",
      kind: "flag",
      when: ofInstances,
    },
    { name: "disallow_reauthentication", label: "An instance logs in once", kind: "flag", when: ofInstances },
  ];
  return [
    {
      kind: "collection",
      part: "roles",
      ...inTerraform("roles"),
      title: "Roles",
      one: "role",
      listPath: "roles",
      itemPath: "role",
      empty: "A role says which instances or principals may log in, and what their tokens may do.",
      loss: ROLE_LOSS,
      isRole: true,
      groups: [{ title: "Who may log in", fields: role }, TOKENS],
    },
    {
      ...LOGIN_CHECK,
      rolesPath: "roles",
      roleIfEmpty: "Empty: the role with the name of the principal, or of the instance's image.",
      label: "Identity",
      hint: "The ARN of a principal, the document of an instance (JSON or base64), or the whole body of a login as JSON.",
      fieldsOf: identityFields,
    },
    REFUSED_LOGINS,
    {
      kind: "settings",
      part: "client",
      ...inTerraform("client"),
      title: "Client",
      path: "config/client",
      loss: "The mount asks the cloud without this key, at the usual addresses, until it is set again.",
      action: {
        label: "Replace the key…",
        path: "config/rotate-root",
        text: "The cloud makes a new access key, which is shown to no one, and the one that is set now is deleted there.",
      },
      groups: [
        {
          title: "With what the cloud is asked",
          fields: [
            { name: "access_key", label: "Access key", kind: "text" },
            { name: "secret_key", label: "Secret key", kind: "secret" },
            {
              name: "role_arn",
              label: "Role, by identity tokens",
              kind: "text",
              hint: "In the place of a stored key.",
            },
            { name: "identity_token_audience", label: "Audience of these tokens", kind: "text" },
            { name: "identity_token_ttl", label: "They are good for", kind: "duration" },
            { name: "identity_token_key", label: "Key that signs them", kind: "text" },
            {
              name: "max_retries",
              label: "Repetitions of a call",
              kind: "number",
              usual: "-1",
              hint: "-1: the usual number.",
            },
          ],
        },
        {
          title: "Addresses, in the place of the cloud's own",
          fields: [
            { name: "endpoint", label: "EC2", kind: "text" },
            { name: "iam_endpoint", label: "IAM", kind: "text" },
            { name: "sts_endpoint", label: "STS", kind: "text" },
            { name: "sts_region", label: "Region of STS", kind: "text" },
            {
              name: "use_sts_region_from_client",
              label: "STS in the region that a login was signed for",
              kind: "flag",
            },
          ],
        },
        {
          title: "Signed logins",
          fields: [
            { name: "iam_server_id_header_value", label: "Server id that they must name", kind: "text" },
            { name: "allowed_sts_header_values", label: "More headers that they may have", kind: "names" },
          ],
        },
      ],
    },
    {
      kind: "settings",
      part: "identity",
      ...inTerraform("identity"),
      title: "Names",
      path: "config/identity",
      groups: [
        {
          title: "What names the holders of tokens, and what is recorded about them",
          fields: [
            { name: "iam_alias", label: "Principals", kind: "choice", choices: ["role_id", "unique_id", "full_arn"] },
            {
              name: word("vm_alias", "ec2_alias"),
              label: "Instances",
              kind: "choice",
              choices: ["role_id", "instance_id", word("image_id", "ami_id")],
            },
            { name: "iam_metadata", label: "Metadata of principals", kind: "names", hint: "default: the usual." },
            {
              name: word("vm_metadata", "ec2_metadata"),
              label: "Metadata of instances",
              kind: "names",
              hint: "default: the usual.",
            },
          ],
        },
      ],
    },
    {
      kind: "collection",
      part: "accounts",
      ...inTerraform("accounts"),
      title: "Accounts",
      one: "account",
      itemPath: "config/sts",
      empty: "For the instances of another account the mount assumes a role there.",
      loss: "Instances of the account are looked up without the role; logins of theirs may fail.",
      groups: [
        {
          title: "Account",
          fields: [
            { name: "sts_role", label: "Role to assume, by ARN", kind: "text" },
            { name: "external_id", label: "External id that the role asks for", kind: "text" },
          ],
        },
      ],
    },
    {
      kind: "collection",
      part: "certificates",
      ...inTerraform("certificates"),
      title: "Certificates",
      one: "certificate",
      listPath: "config/certificates",
      itemPath: "config/certificate",
      empty: "Those of the cloud are built in. Others verify documents of instances beside them.",
      loss: "Documents that it alone verifies are refused.",
      groups: [
        {
          title: "Certificate",
          fields: [
            { name: "type", label: "Verifies", kind: "choice", choices: ["pkcs7", "identity"] },
            { name: word("cloud_public_cert", "aws_public_cert"), label: "In PEM", kind: "long text", required: true },
          ],
        },
      ],
    },
    {
      kind: "collection",
      part: "access-list",
      title: "Access list",
      one: "instance",
      many: "entries",
      itemPath: "identity-accesslist",
      groups: [],
      canAdd: false,
      empty: "An instance is on it from its first login on, with the nonce of that login.",
      loss: "Its logins are forgotten: the next client that presents its document logs in with a nonce of its own.",
      action: { label: "Tidy…", path: "tidy/identity-accesslist", text: "Entries that have ended are removed now." },
    },
    {
      kind: "collection",
      part: "deny-list",
      title: "Deny list",
      one: "role tag",
      many: "entries",
      itemPath: "roletag-denylist",
      groups: [],
      empty: "A role tag on it is refused at logins.",
      loss: "Instances with this tag may log in by it again.",
      action: { label: "Tidy…", path: "tidy/roletag-denylist", text: "Entries that have ended are removed now." },
    },
  ];
}

/** Fields of a role tag. An instance with its value gets a narrower role. */
export const ROLE_TAG: readonly FieldGroup[] = [
  {
    title: "Role tag",
    fields: [
      { name: "policies", label: "Policies", kind: "names", hint: "Out of those of the role. None: default alone." },
      { name: "max_ttl", label: "Tokens live at most", kind: "duration" },
      { name: "instance_id", label: "The only instance that it is good for", kind: "text" },
      { name: "allow_instance_migration", label: "The instance may log in again after a move", kind: "flag" },
      { name: "disallow_reauthentication", label: "The instance logs in once", kind: "flag" },
    ],
  },
];
