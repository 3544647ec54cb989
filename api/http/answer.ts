/** A problem document (RFC 9457), as the API returns it. */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[];
  /** After this many seconds, the client can repeat the call. */
  readonly retry_after?: number;
};

/** A call of an operation and its duration, as the console shows them. */
export type Call = {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** The headers of this call alone, such as If-Match and Consistency-Token. Credentials are not among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly milliseconds: number;
};

type Outcome = {
  readonly status: number;
  readonly headers: Headers;
  /**
   * For a read, the log position up to which the data are complete. For a change, the position of the last event after
   * it.
   */
  readonly position: string | null;
  /** For how many seconds the log has had events that the answer to a read lacks; 0 if it is less than one second. */
  readonly behindSeconds: number;
  readonly etag: string | null;
  readonly call: Call;
};

/** The result of a call: the reply of the operation, or the problem with which it was refused. */
export type Answer<T> = Outcome & ({ readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem });
