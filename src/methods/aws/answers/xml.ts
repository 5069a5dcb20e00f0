/** An element of an answer. Attributes are left out: the answers carry nothing but a namespace in them. */
export type XmlElement = {
  readonly name: string;
  /** Text of an element without children, entities decoded; "" when it has children. */
  readonly text: string;
  readonly children: readonly XmlElement[];
};

/** Answers nest about ten levels deep. */
const MAX_DEPTH = 24;

/** An element whose end was not read yet. */
type OpenElement = { readonly name: string; text: string; readonly children: XmlElement[] };

/** Text, or a tag: the slash of an end, a name, and what follows the name. */
const PIECE = /([^<]+)|<(\/?)([A-Za-z_][\w.:-]*)(?=[\s/>])([^<>]*)>/y;

const ATTRIBUTE = /\s+([A-Za-z_][\w.:-]*)\s*=\s*(?:"[^"]*"|'[^']*')/y;

/**
 * Reads an answer of the cloud strictly: one well-formed document of elements and text, in one pass. Document types, entities of
 * one's own, comments, CDATA and processing instructions are refused; the services send none, and each is a way to make
 * two readers see different documents. Null when the text is anything else.
 */
export function parseXml(text: string): XmlElement | null {
  const body = text.replace(/^\s*(<\?xml [^<>]*\?>)?\s*/, "").replace(/\r\n?/g, "\n");
  const document: OpenElement = { name: "", text: "", children: [] };
  const open: OpenElement[] = [];
  let inside = document;
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < body.length) {
    const piece = PIECE.exec(body);
    if (!piece) return null;
    const [, words, slash, name = "", rest = ""] = piece;
    if (words !== undefined) {
      inside.text += words;
    } else if (slash === "") {
      const isEmpty = rest.endsWith("/");
      if (open.length === MAX_DEPTH || !areAttributes(isEmpty ? rest.slice(0, -1) : rest)) return null;
      const element: OpenElement = { name, text: "", children: [] };
      inside.children.push(element);
      if (isEmpty) continue;
      open.push(element);
      inside = element;
    } else {
      if (open.pop()?.name !== name || rest.trim() !== "" || !settleText(inside)) return null;
      inside = open.at(-1) ?? document;
    }
  }
  const [root, ...more] = document.children;
  const isWhole = open.length === 0 && more.length === 0 && document.text.trim() === "";
  return isWhole ? (root ?? null) : null;
}

/** The only child at the end of a path of names, each of which must be the only one of its name. Null otherwise. */
export function onlyChild(element: XmlElement, ...path: readonly string[]): XmlElement | null {
  let current = element;
  for (const name of path) {
    const [child, ...more] = current.children.filter((candidate) => candidate.name === name);
    if (child === undefined || more.length > 0) return null;
    current = child;
  }
  return current;
}

/** The text at the end of such a path. Null when it is missing, repeated, empty or not a string. */
export function textAt(element: XmlElement, ...path: readonly string[]): string | null {
  const child = onlyChild(element, ...path);
  return child && child.text !== "" ? child.text : null;
}

/** True for attributes with different names, or none. */
function areAttributes(text: string): boolean {
  if (text.trim() === "") return true;
  const names = new Set<string>();
  let end = 0;
  for (ATTRIBUTE.lastIndex = 0; ; end = ATTRIBUTE.lastIndex) {
    const name = ATTRIBUTE.exec(text)?.[1];
    if (name === undefined) return text.slice(end).trim() === "";
    if (names.has(name)) return false;
    names.add(name);
  }
}

/** Gives an element that has ended its text. False when it has text beside children, or a reference that stands for nothing. */
function settleText(element: OpenElement): boolean {
  const decoded = decodeEntities(element.text);
  if (decoded === null || (element.children.length > 0 && element.text.trim() !== "")) return false;
  element.text = element.children.length > 0 ? "" : decoded;
  return true;
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** Decodes the five predefined entities and character references, once. Null for any other use of `&`. */
function decodeEntities(text: string): string | null {
  let valid = true;
  const decoded = text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));|&/g,
    (_, name, dec, hex) => {
      const code = dec === undefined ? Number.parseInt(hex ?? "", 16) : Number(dec);
      const character = name === undefined ? characterOf(code) : NAMED.get(name);
      if (character === undefined) valid = false;
      return character ?? "";
    },
  );
  return valid ? decoded : null;
}

/** The character of a reference, for those that XML allows. */
function characterOf(code: number): string | undefined {
  const allowed =
    code === 9 ||
    code === 10 ||
    code === 13 ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0x10ffff);
  return allowed ? String.fromCodePoint(code) : undefined;
}
