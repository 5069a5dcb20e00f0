/**
 * What is wrong with the name of a record that is to be made; "" when nothing is. To make one that is there already would change
 * it. Names of roles and accounts are kept in lower case.
 */
export function newNameMistake(name: string, names: readonly string[]): string {
  const there = names.includes(name) ? name : name.toLowerCase();
  return names.includes(there) ? `There is ${there} already: change it on its page, or choose another name` : "";
}
