import { describe, expect, it } from "vitest";
import { NO_PRIVATE_HOSTS, privateHosts } from "../../../../../src/base/outbound-hosts.ts";
import { endpointProblem } from "../../../../../src/methods/aws/clients/client-config.ts";

const PRIVATE = "must not be a private, loopback or link-local address";
const FORM = "must be a URL of scheme, host in lower case and perhaps a plain path, without user or query";
const SPELLING = "must name its host in the usual spelling";

describe("an endpoint that an operator configures", () => {
  it.each([
    "",
    "https://ec2.example",
    "https://sts.eu-west-1.amazonaws.com",
    "https://sts.eu-west-1.amazonaws.com/",
    "https://proxy.example.com:8443",
    "https://1.1.1.1",
    "https://8.8.8.8:444",
    "https://internal.example.com",
    "https://notlocalhost.example",
    "https://gateway.example.com/ec2",
    "https://gateway.example.com/aws/v1.2/ec2/",
  ])("may be %j", (url) => expect(endpointProblem(url, NO_PRIVATE_HOSTS)).toBeNull());

  it.each([
    ["http://ec2.example", "must be an https URL"],
    ["https://127.0.0.1", PRIVATE],
    ["https://127.1.2.3:8080", PRIVATE],
    ["https://10.0.0.1", PRIVATE],
    ["https://172.16.0.1", PRIVATE],
    ["https://192.168.1.1", PRIVATE],
    ["https://169.254.169.254", PRIVATE],
    ["https://100.64.0.1", PRIVATE],
    ["https://0.0.0.0", PRIVATE],
    ["https://255.255.255.255", PRIVATE],
    ["https://224.0.0.1", PRIVATE],
    ["https://localhost", PRIVATE],
    ["https://localhost:8080", PRIVATE],
    ["https://a.localhost", PRIVATE],
    ["https://printer.local", PRIVATE],
    ["https://metadata.google.internal", PRIVATE],
    ["https://router.home.arpa", PRIVATE],
    ["https://metadata", PRIVATE],
    ["https://2130706433", SPELLING],
    ["https://0177.0.0.1", SPELLING],
    ["https://0x7f.0.0.1", SPELLING],
    ["https://127.1", SPELLING],
    ["https://134744072", SPELLING],
    ["https://[::1]", FORM],
    ["https://[::ffff:127.0.0.1]", FORM],
    ["https://[fd00::1]", FORM],
    ["https://localhost.", FORM],
    ["https://127.0.0.1.", FORM],
    ["https://user@ec2.example", FORM],
    ["https://ec2.example@127.0.0.1", FORM],
    ["https://127.0.0.1/ec2", PRIVATE],
    ["https://ec2.example/..", FORM],
    ["https://ec2.example/a/./b", FORM],
    ["https://ec2.example/a/../b", FORM],
    ["https://ec2.example//a", FORM],
    ["https://ec2.example/a//", FORM],
    ["https://ec2.example/%2e%2e", FORM],
    ["https://ec2.example/a b", FORM],
    ["https://ec2.example/a\\b", FORM],
    ["https://ec2.example/a\n/b", FORM],
    ["https://ec2.example/@127.0.0.1", FORM],
    ["https://ec2.example/a?x=1", FORM],
    ["https://ec2.example/a#x", FORM],
    [`https://ec2.example${"/a".repeat(9)}`, FORM],
    ["https://ec2.example?x=1", FORM],
    ["https://ec2.example#x", FORM],
    ["https://ec2.example\\@127.0.0.1", FORM],
    ["HTTPS://EC2.EXAMPLE", FORM],
    ["https://ⓛocalhost", FORM],
    ["https://127。0。0。1", FORM],
    ["ftp://ec2.example", FORM],
    ["https://ec2.example:99999", SPELLING],
    ["//ec2.example", FORM],
    ["ec2.example", FORM],
    [" https://ec2.example", FORM],
    ["https://ec2.example\n", FORM],
  ])("may not be %j", (url, problem) => expect(endpointProblem(url, NO_PRIVATE_HOSTS)).toBe(problem));

  const LISTED = privateHosts({ GROVE_PRIVATE_HOSTS: "127.0.0.0/8,localhost,metadata" });

  it.each(["http://127.0.0.1:4566", "https://localhost", "http://metadata"])("may be %j where that is listed", (url) =>
    expect(endpointProblem(url, LISTED)).toBeNull(),
  );

  it.each(["https://user@localhost", "https://2130706433", "file://localhost", "http://10.0.0.1", "https://127.1"])(
    "may not be %j beside that list",
    (url) => expect(endpointProblem(url, LISTED)).not.toBeNull(),
  );
});
