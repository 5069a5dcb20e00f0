import { describe, expect, it } from "vitest";
import { onlyChild, parseXml, textAt } from "../../../../../src/methods/aws/answers/xml.ts";

describe("an XML answer", () => {
  it("is one tree of elements with text", () => {
    expect(parseXml("<a x='1'>\n <b>1 &amp;amp; &#38;amp; 2</b><c/> <b> 3 </b>\n</a>\n")).toEqual({
      name: "a",
      text: "",
      children: [
        { name: "b", text: "1 &amp; &amp; 2", children: [] },
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
    "<a/>x",
    "<a/>&amp;",
    "<a/>>",
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
    "<a></a b='1'>",
    "<a></a/>",
    "</a>",
    "<a></a></a>",
    "< a/>",
    "<a>",
  ])("is nothing else: %s", (text) => {
    expect(parseXml(text)).toBeNull();
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
