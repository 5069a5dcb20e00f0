/** What the paths of roles take; for another name there is no endpoint. */
const ROLE_NAME = /^\w(?:[\w.-]*\w)?$/;

/**
 * What is wrong with the name of a record that is to be made; "" when nothing is. To make one that is there already would change
 * it. Names of roles and accounts are kept in lower case.
 */
export function newNameMistake(name: string, names: readonly string[], isRole = false): string {
  if (isRole && !ROLE_NAME.test(name))
    return "A name has letters without accents, digits and _, and between them also - and .";
  const there = names.includes(name) ? name : name.toLowerCase();
  return names.includes(there) ? `There is ${there} already: change it on its page, or choose another name` : "";
}
