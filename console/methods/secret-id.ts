import { type FieldGroup, type RecordValue, typedDuration } from "../records/field.ts";
import type { FormRequest } from "../records/request-commands.ts";
import { WRAP, wrappingGroup, wrappingOf } from "../records/wrapping.ts";

/** A secret-id as a look-up shows it. */
export interface SecretIdFacts {
  readonly secret_id_accessor: string;
  /** Remaining logins; 0: no limit. */
  readonly secret_id_num_uses: number;
  readonly expiration_time: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly cidr_list: readonly string[];
  readonly token_bound_cidrs: readonly string[];
}

/** The API's text for a time that is not set. */
const NO_TIME = "0001-01-01T00:00:00Z";

/** The expiration of a secret-id; null when it does not expire. */
export const endOf = ({ expiration_time: end }: Pick<SecretIdFacts, "expiration_time">): string | null =>
  end === NO_TIME ? null : end;

const number = (value: unknown): number => (typeof value === "number" ? value : 0);

/** The form of a new secret-id of a role. Its answer is wrapped by default. */
export function newSecretIdForm(role: RecordValue): readonly FieldGroup[] {
  const uses = number(role.secret_id_num_uses);
  const ttl = number(role.secret_id_ttl);
  return [
    wrappingGroup(["5m", "1h", "1d", ""], "shown here, in plain"),
    {
      title: "What it is good for",
      fields: [
        {
          name: "ttl",
          label: "Good for",
          kind: "duration",
          hint:
            ttl > 0
              ? `At most ${typedDuration(ttl)}, which is also the default.`
              : "Like 12h or 30d. Empty: no expiry.",
        },
        {
          name: "num_uses",
          label: "Logins",
          kind: "number",
          hint: uses > 0 ? `At most ${uses}, which is also the default.` : "Empty: no limit.",
        },
        { name: "metadata", label: "Metadata", kind: "pairs", hint: "Of its tokens too. name=value, one a line." },
        {
          name: "cidr_list",
          label: "Networks of logins",
          kind: "names",
          hint: "Of those of the role. None: all of them.",
        },
        {
          name: "token_bound_cidrs",
          label: "Networks of its tokens",
          kind: "names",
          hint: "Of those of the role. None: all of them.",
        },
      ],
    },
  ];
}

/** The request that makes a secret-id. @param path the endpoint of the secret-ids of the role */
export function newSecretIdRequest(path: string, values: RecordValue): FormRequest {
  const { [WRAP]: _, ...body } = values;
  return { path, body, ...wrappingOf(values) };
}
