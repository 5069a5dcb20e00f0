import fc from "fast-check";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { describe, expect, it } from "vitest";
import { onlyChild, parseXml, textAt, type XmlElement } from "../../../../../src/methods/cloud/answers/xml.ts";

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,5}$/).filter((word) => word !== "__proto__");
const space = fc.constantFrom("", " ", "\n  ", "\t");
const text = fc.array(fc.constantFrom("a", "Z", "7", " ", "/", ">", "=", "'", '"', "ä", "😀", "&amp;", "&#65;"), {
  maxLength: 6,
});
const { element } = fc.letrec<{ element: string }>((tie) => ({
  element: fc
    .tuple(
      name,
      fc.uniqueArray(name, { maxLength: 2 }),
      space,
      fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        text.map((characters) => characters.join("")),
        fc.tuple(space, fc.array(tie("element"), { minLength: 1, maxLength: 3 })).map(([gap, all]) => all.join(gap)),
      ),
    )
    .map(([tag, attributes, gap, inside]) => {
      const all = attributes.map((attribute) => ` ${attribute}${gap}="x y"`).join("");
      return inside === "" ? `<${tag}${all}${gap}/>` : `<${tag}${all}${gap}>${inside}</${tag}${gap}>`;
    }),
}));

/** What another reader sees: names and texts in their order, references left as they are. */
function seenByAnother(document: string): unknown {
  const parser = new XMLParser({
    preserveOrder: true,
    ignoreAttributes: true,
    parseTagValue: false,
    trimValues: false,
    processEntities: false,
  });
  const see = (nodes: Record<string, unknown>[]): unknown =>
    nodes.flatMap((node) =>
      Object.entries(node).flatMap(([key, value]): unknown[] => {
        if (key === ":@") return [];
        if (key === "#text") return String(value).trim() === "" ? [] : [decoded(String(value)).trim()];
        return [[key, see(value as Record<string, unknown>[])]];
      }),
    );
  return see(parser.parse(document));
}

function decoded(characters: string): string {
  return characters.replaceAll("&#65;", "A").replaceAll("&amp;", "&");
}

function seenHere(element: XmlElement): unknown {
  const inside = element.children.length > 0 ? element.children.map(seenHere) : [element.text.trim()].filter(Boolean);
  return [element.name, inside];
}

describe("an XML answer", () => {
  it("is one tree of elements with text", () => {
    expect(parseXml("<a x='1'>\n <b>1 &amp;amp; 2</b><c/> <b> 3 </b>\n</a>\n")).toEqual({
      name: "a",
      text: "",
      children: [
        { name: "b", text: "1 &amp; 2", children: [] },
        { name: "c", text: "", children: [] },
        { name: "b", text: " 3 ", children: [] },
      ],
    });
  });

  it.each([
    "",
    "text",
    "x<a/>",
    "<a></a>x",
    "<a/><b/>",
    "<b/><a></a>",
    "<a></a><b/>",
    "<a>x<b/></a>",
    "<a><b/>x</a>",
    "<a>&nbsp;</a>",
    "<a>&#0;</a>",
    "<a>&#xd800;</a>",
    "<a>&#x110000;</a>",
    "<a>&#12345678;</a>",
    "<a>&</a>",
    "<a><b></a></b>",
    "<a",
    "<?xml version='1.0'?><?xml version='1.0'?><a/>",
    "<!DOCTYPE a><a/>",
    "<a><!-- b --></a>",
    "<a><![CDATA[b]]></a>",
    "<a><?b c?></a>",
    "<a b></a>",
    "<a b=c></a>",
    "<a b='1' b='2'/>",
    "<a b='1'c='2'/>",
    "<a b='&amp;'/>",
    "<a></a b='1'>",
    "<a></a/>",
    "</a>",
    "<a></a></a>",
    "< a/>",
    "<a>",
  ])("is nothing else: %s", (text) => {
    expect(parseXml(text)).toBeNull();
  });

  it("is what another reader sees in it", () => {
    fc.assert(
      fc.property(element, space, (document, gap) => {
        const read = parseXml(`<?xml version="1.0" encoding="UTF-8"?>${gap}${document}${gap}`);
        expect(read && [seenHere(read)]).toEqual(seenByAnother(document));
      }),
    );
  });

  it("is well-formed, whatever becomes of it on the way", () => {
    const change = fc.tuple(fc.nat(), fc.constantFrom("", "<", ">", "/", "</", "=", '"', "'", "&", " ", "a", "<b>"));
    fc.assert(
      fc.property(element, fc.array(change, { minLength: 1, maxLength: 3 }), (document, changes) => {
        const changed = changes.reduce((all, [at, piece]) => {
          const place = at % (all.length + 1);
          return all.slice(0, place) + piece + all.slice(place + 1);
        }, document);
        if (parseXml(changed) !== null) expect(XMLValidator.validate(changed)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("is refused in a time that grows with its length alone", () => {
    const long = " ".repeat(200_000);
    for (const bad of [`<a${long}`, `<a${" b='c'".repeat(50_000)}`, `<a b=${long}`, `<${"a".repeat(200_000)}`]) {
      expect(parseXml(bad)).toBeNull();
    }
  });

  it("nests 24 levels deep and no deeper", () => {
    const nested = (levels: number) => "<a>".repeat(levels) + "</a>".repeat(levels);
    expect(parseXml(nested(24))).not.toBeNull();
    expect(parseXml(nested(25))).toBeNull();
  });

  it("is found by names that stand once", () => {
    const document = parseXml("<a><b><c>1</c></b><d>1</d><d>1</d><e>\n<f/>\n</e></a>");
    if (document === null) throw new Error("did not parse");
    expect(textAt(document, "b", "c")).toBe("1");
    expect(textAt(document, "d")).toBeNull();
    expect(textAt(document, "e")).toBeNull();
    expect(textAt(document, "missing")).toBeNull();
    expect(onlyChild(document, "d")).toBeNull();
    expect(onlyChild(document, "e", "f")).toEqual({ name: "f", text: "", children: [] });
  });
});
