import { formed, type Preset, ROLE_FIELD, shellLogin } from "./preset.ts";

const DURATION = /^\d+[smhd]$/;
const NETWORKS = /^[\da-f.:]+\/\d{1,3}(?:, *[\da-f.:]+\/\d{1,3})*$/i;

/** A script on a machine without an identity that a method could verify. */
export const SCRIPT: Preset = {
  id: "approle",
  title: "AppRole, for a script",
  text: "A script on a machine without an identity of its own. It logs in with a role-id and a secret-id, which you deliver.",
  thing: "the AppRole",
  method: "approle",
  mount: "approle",
  fields: [
    {
      ...formed("ttl", "A secret-id is good for", "Then the script needs a new one.", DURATION, "As in 12h or 30d."),
      usual: "30d",
    },
    {
      ...formed(
        "networks",
        "Networks",
        "The script can log in only from these, as in 10.0.0.0/8. Empty: from anywhere.",
        NETWORKS,
        "As in 10.0.0.0/8, with commas between.",
      ),
      isOptional: true,
    },
    ROLE_FIELD,
  ],
  role: ({ ttl, networks = "" }) => ({
    secret_id_ttl: ttl,
    ...(networks !== "" && { secret_id_bound_cidrs: networks.split(",").map((one) => one.trim()) }),
    token_ttl: "1h",
  }),
  snippets: (_, place) => [
    {
      title: "On the machine, once",
      text: `# As root. SCRIPT_USER is the user that runs the script. No other user can read the files.
export VAULT_ADDR=${place.address}
read -r ROLE_ID     # paste the role-id
read -rs WRAPPED    # paste the wrapping token of the secret-id, which is not shown
SECRET_ID=$(curl -sSf -X POST -H @<(printf 'X-Vault-Token: %s' "$WRAPPED") "$VAULT_ADDR/v1/sys/wrapping/unwrap" |
  jq -er .data.secret_id)
# Of a secret-id that was not wrapped, in the place of the last three lines: read -rs SECRET_ID
(umask 077
  mkdir -p /etc/${place.role}
  printf %s "\${ROLE_ID:?nothing was pasted}" > /etc/${place.role}/role-id
  printf %s "\${SECRET_ID:?it is not unwrapped}" > /etc/${place.role}/secret-id
  chown -R "$SCRIPT_USER" /etc/${place.role})
`,
    },
    {
      title: "On the machine",
      text: `export VAULT_ADDR=${place.address}
ROLE_ID=$(cat /etc/${place.role}/role-id)
SECRET_ID=$(cat /etc/${place.role}/secret-id)
VAULT_TOKEN=$(${shellLogin(place, `printf '{"role_id": "%s", "secret_id": "%s"}' "$ROLE_ID" "$SECRET_ID"`, "")})
export VAULT_TOKEN
`,
    },
  ],
  identity: () => "",
};
