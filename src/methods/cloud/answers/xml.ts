/** An element of an answer. Attributes are left out: the answers carry nothing but a namespace in them. */
export type XmlElement = {
  readonly name: string;
  /** Text of an element without children, entities decoded; "" when it has children. */
  readonly text: string;
  readonly children: readonly XmlElement[];
};

/** Answers nest about ten levels deep. */
const MAX_DEPTH = 24;

/** White space as XML has it. */
const SPACE = "[ \\t\\r\\n]";
const NAME = "[A-Za-z_][A-Za-z0-9_.:-]*";
const ATTRIBUTE = `${NAME}${SPACE}*=${SPACE}*(?:"[^"<&]*"|'[^'<&]*')`;

const DECLARATION = new RegExp(`^${SPACE}*(?:<\\?xml [^<>]*\\?>)?`);
/** A tag with its slash, name, attributes and slash at the end, or text. It tries nothing twice, so a bad answer costs no more than a good one. */
const TOKEN = new RegExp(`<(/?)(${NAME})((?:${SPACE}+${ATTRIBUTE})*)${SPACE}*(/?)>|([^<]+)`, "y");
const ATTRIBUTE_NAMES = new RegExp(`(${NAME})${SPACE}*=${SPACE}*["']`, "g");
const NOT_SPACE = /[^ \t\r\n]/;

/** An element whose end was not read yet. */
interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

/**
 * Parses an answer of the cloud strictly: one well-formed document of elements and text. Document types, entities of
 * one's own, comments, CDATA and processing instructions are refused; the services send none, and each is a way to make
 * two readers see different documents. Null when the text is anything else.
 */
export function parseXml(text: string): XmlElement | null {
  const document = openElement("");
  const open = [document];
  TOKEN.lastIndex = DECLARATION.exec(text)?.[0].length ?? 0;
  while (TOKEN.lastIndex < text.length) {
    const token = TOKEN.exec(text);
    const element = open.at(-1);
    if (!token || !element) return null;
    const [, endSlash, name = "", attributes = "", emptySlash, characters] = token;
    if (characters !== undefined) {
      element.text += characters;
    } else if (endSlash !== "") {
      if (name !== element.name || attributes !== "" || emptySlash !== "") return null;
      open.pop();
      if (!endElement(element, open.at(-1))) return null;
    } else {
      if (open.length > MAX_DEPTH || hasRepeatedAttribute(attributes)) return null;
      if (emptySlash === "") open.push(openElement(name));
      else element.children.push({ name, text: "", children: [] });
    }
  }
  const [root, ...more] = document.children;
  if (root === undefined || more.length > 0 || open.length > 1) return null;
  return NOT_SPACE.test(document.text) ? null : root;
}

function openElement(name: string): OpenElement {
  return { name, text: "", children: [] };
}

/** Adds an element that ends to the one around it. False when it mixes elements with text, or has a malformed reference. */
function endElement({ name, text, children }: OpenElement, around: OpenElement | undefined): boolean {
  const decoded = text.includes("&") ? decodeEntities(text) : text;
  if (decoded === null || !around) return false;
  if (children.length > 0 && NOT_SPACE.test(text)) return false;
  around.children.push({ name, text: children.length > 0 ? "" : decoded, children });
  return true;
}

function hasRepeatedAttribute(attributes: string): boolean {
  if (attributes === "") return false;
  const names = [...attributes.matchAll(ATTRIBUTE_NAMES)].map(([, name]) => name);
  return new Set(names).size < names.length;
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
