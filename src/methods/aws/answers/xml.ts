import { XMLParser, XMLValidator } from "fast-xml-parser";

/** An element of an answer. Attributes are ignored: in these answers they only declare a namespace. */
export type XmlElement = {
  readonly name: string;
  /** The text with decoded entities; "" when the element has children. */
  readonly text: string;
  readonly children: readonly XmlElement[];
};

/** Answers nest about ten levels deep. */
const MAX_DEPTH = 24;

const parser = new XMLParser({
  preserveOrder: true,
  ignoreAttributes: true,
  ignoreDeclaration: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  maxNestedTags: MAX_DEPTH,
});

/**
 * Parses an answer of the cloud strictly: one well-formed document of elements and text, else null. Document types,
 * other entities than the predefined ones, comments, CDATA and processing instructions are refused. The services send
 * none of them, and parsers differ in how they read them.
 */
export function parseXml(text: string): XmlElement | null {
  const body = text.replace(/^\s*(<\?xml [^<>]*\?>)?\s*/, "");
  if (!/^<[A-Za-z]/.test(body) || /<[!?]/.test(body)) return null;
  // The validator accepts text after an empty root.
  if (!/<[^<>]*>\s*$/.test(body)) return null;
  try {
    if (XMLValidator.validate(body) !== true) return null;
    const nodes: unknown = parser.parse(body);
    const elements = readNodes(nodes, 0);
    return elements?.children.length === 1 ? (elements.children[0] ?? null) : null;
  } catch {
    return null;
  }
}

/** The element at the end of a path of names. Null unless each element on the path is the only one of its name. */
export function onlyChild(element: XmlElement, ...path: readonly string[]): XmlElement | null {
  let current = element;
  for (const name of path) {
    const [child, ...more] = current.children.filter((candidate) => candidate.name === name);
    if (child === undefined || more.length > 0) return null;
    current = child;
  }
  return current;
}

/** The text of the element at the end of such a path; null also when the text is empty. */
export function textAt(element: XmlElement, ...path: readonly string[]): string | null {
  const child = onlyChild(element, ...path);
  return child && child.text !== "" ? child.text : null;
}

/** Reads the parser's nodes of the inside of an element. Null when there is anything but elements and text. */
function readNodes(nodes: unknown, depth: number): { text: string; children: XmlElement[] } | null {
  if (!Array.isArray(nodes) || depth > MAX_DEPTH) return null;
  let text = "";
  const children: XmlElement[] = [];
  const named: readonly Record<string, unknown>[] = nodes;
  for (const node of named) {
    const [name, ...more] = Object.keys(node).filter((key) => key !== ":@");
    if (name === undefined || more.length > 0) return null;
    const value = node[name];
    if (name === "#text") {
      text += String(value);
      continue;
    }
    const inner = readNodes(value, depth + 1);
    const decoded = inner && decodeEntities(inner.text);
    if (inner === null || decoded === null) return null;
    if (inner.children.length > 0 && inner.text.trim() !== "") return null;
    children.push({ name, text: inner.children.length > 0 ? "" : decoded, children: inner.children });
  }
  return { text, children };
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Decodes the predefined entities and the character references, once. Null for any other use of `&`. */
function decodeEntities(text: string): string | null {
  let valid = true;
  const decoded = text.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));|&/g,
    (_, name, dec, hex) => {
      const code = dec === undefined ? Number.parseInt(hex ?? "", 16) : Number(dec);
      const character = name === undefined ? characterOf(code) : NAMED[name];
      if (character === undefined) valid = false;
      return character ?? "";
    },
  );
  return valid ? decoded : null;
}

function characterOf(code: number): string | undefined {
  const isWhitespace = code === 9 || code === 10 || code === 13;
  const allowed = isWhitespace || (code >= 0x20 && code <= 0xd7ff) || (code >= 0xe000 && code <= 0x10ffff);
  return allowed ? String.fromCodePoint(code) : undefined;
}
