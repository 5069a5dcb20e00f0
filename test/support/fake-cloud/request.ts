/** A request as the fake cloud sees it. Header names are in lower case. */
export interface CloudRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What the fake cloud answers. */
export interface CloudReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A reply in XML. */
export function xml(status: number, body: string): CloudReply {
  return { status, headers: { "content-type": "text/xml" }, body };
}

/** A refusal in the shape that STS and IAM use. */
export function refusal(status: number, code: string): CloudReply {
  return xml(status, `<ErrorResponse><Error><Code>${code}</Code><Message>${code}</Message></Error></ErrorResponse>`);
}

/** A refusal in the shape that EC2 uses. */
export function ec2Refusal(status: number, code: string): CloudReply {
  return xml(status, `<Response><Errors><Error><Code>${code}</Code><Message>x</Message></Error></Errors></Response>`);
}
