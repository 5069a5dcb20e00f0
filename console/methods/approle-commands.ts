import { shellWord } from "../records/request-commands.ts";

/** The place and the role of an AppRole login. */
export interface AppRolePlace {
  /** The origin that clients reach. */
  readonly address: string;
  /** Path of the auth mount, without `auth/` and the last slash. */
  readonly mount: string;
  readonly role: string;
}

/**
 * The commands of a login. The secret-id is not on a command line, where other users of the machine would see it.
 *
 * @param needsSecretId false when the role-id is enough
 */
export function loginCommands({ address, mount }: AppRolePlace, roleId: string, needsSecretId: boolean): string {
  const login = `bao write -field=token ${shellWord(`auth/${mount}/login`)} role_id=${shellWord(roleId)}`;
  const lines = needsSecretId
    ? [
        "# WRAPPED is the wrapping token of a secret-id. It works once:",
        "# if it was used before, the secret-id is compromised.",
        'SECRET_ID=$(VAULT_TOKEN="$WRAPPED" bao unwrap -field=secret_id)',
        `VAULT_TOKEN=$(printf %s "$SECRET_ID" | ${login} secret_id=-)`,
      ]
    : [`VAULT_TOKEN=$(${login})`];
  return `export VAULT_ADDR=${shellWord(address)}\n${lines.join("\n")}\nexport VAULT_TOKEN\n`;
}

/**
 * The commands that start an agent: they write its configuration and the files that it names, each of which it needs.
 *
 * @param needsSecretId false when the role-id is enough
 */
export function agentCommands(place: AppRolePlace, roleId: string, needsSecretId: boolean): string {
  const [etc, run] = [`/etc/${place.role}`, `/run/${place.role}`].map(shellWord);
  const secretId = [
    "# Paste the wrapping token of a secret-id, which is not shown. Before each further start: another one.",
    "read -rs WRAPPED",
    `(umask 077; printf %s "\${WRAPPED:?nothing was pasted}" > ${etc}/secret-id)`,
  ];
  return `# As root.
mkdir -p ${etc} ${run}
cat > ${etc}/agent.hcl <<'HCL'
${agentConfig(place, needsSecretId)}HCL
printf %s ${shellWord(roleId)} > ${etc}/role-id
${needsSecretId ? `${secretId.join("\n")}\n` : ""}bao agent -config=${etc}/agent.hcl
`;
}

/** The configuration of an agent that logs in, and keeps a token in a file. */
function agentConfig({ address, mount, role }: AppRolePlace, needsSecretId: boolean): string {
  const secretId = needsSecretId
    ? `
      # The agent reads this file once and deletes it: after a restart it needs a new secret-id.
      secret_id_file_path = "/etc/${role}/secret-id"
      # The file has a wrapping token. Without the next line: the secret-id itself.
      secret_id_response_wrapping_path = "auth/${mount}/role/${role}/secret-id"`
    : "";
  return `vault {
  address = "${address}"
}
auto_auth {
  method "approle" {
    mount_path = "auth/${mount}"
    config = {
      role_id_file_path = "/etc/${role}/role-id"${secretId}
    }
  }
  sink "file" {
    config = {
      path = "/run/${role}/token"
    }
  }
}
`;
}
