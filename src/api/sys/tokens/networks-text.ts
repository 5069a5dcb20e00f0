/** Networks of a list that a sentence names. */
const NAMED = 5;

/**
 * Says in a sentence from where a secret can be used: ", from an address in …, and from nowhere else"; "" for anywhere.
 *
 * @param lists that all exclude a client which is in none of their networks; an empty one excludes none.
 */
export function fromNetworks(lists: readonly (readonly string[])[]): string {
  const texts = [...new Set(lists.filter((list) => list.length > 0).map(listText))];
  return texts.length === 0 ? "" : `, from an address in ${texts.join(" and in ")}, and from nowhere else`;
}

function listText(networks: readonly string[]): string {
  const others = networks.length - NAMED;
  return `${networks.slice(0, NAMED).join(" or ")}${others > 0 ? ` or ${others} others` : ""}`;
}
