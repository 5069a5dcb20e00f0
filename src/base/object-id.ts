const OBJECT_ID = /^[0-9a-f]{64}$/;

/**
 * The id of the object that this installation knows by `id`. In an installation that was restored from a backup, an id may be from
 * another deployment, whose ids can't be made here: its object has that id as its name. Only for ids from tokens, accessors and lists
 * of this installation: any name leads to an object.
 *
 * @throws for what has not the form of an id.
 */
export function objectIdOf(
  objects: Pick<DurableObjectNamespace, "idFromString" | "idFromName">,
  id: string,
): DurableObjectId {
  if (!OBJECT_ID.test(id)) throw new Error("this is no id of an object");
  try {
    return objects.idFromString(id);
  } catch {
    return objects.idFromName(id);
  }
}
