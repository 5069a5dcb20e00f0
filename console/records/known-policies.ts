import { type Field, sentValue } from "./field.ts";

/** True for a field that holds names of policies, and no patterns of them. */
export const namesPolicies = ({ name, kind }: Field): boolean => kind === "names" && /(?:^|[_-])policies$/.test(name);

/** What a field that names policies warns of: a role may name a policy before it is made. "" when there is nothing. */
export function unknownPoliciesText(field: Field, text: string, known: ReadonlySet<string> | null): string {
  const typed = namesPolicies(field) && known ? sentValue(field, text) : [];
  const unknown = (Array.isArray(typed) ? typed.map(String) : []).filter((name) => !known?.has(name.toLowerCase()));
  return unknown.length === 0 ? "" : `There is no policy ${unknown.join(", ")}: it grants nothing until it is made.`;
}
