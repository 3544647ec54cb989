import type { PlainRows, Rows } from '../../api/areas.ts';
import type { ReplyOf, Sent } from '../../api/http/ask.ts';

// The types of the package annals-client come from the OpenAPI document instead (infra/packages/operation-declarations.ts).

type AllRows = Rows & PlainRows;

/** The id of an operation, as in the OpenAPI document. */
export type OperationName = keyof AllRows & string;
/** The path parameters, query and body fields of an operation in one object. A body that is a list is the field `items`. */
export type Fields<Name extends OperationName> = Sent<AllRows[Name]>;
/** The reply of an operation; for files and streams, the response whose body the caller reads. */
export type Reply<Name extends OperationName> = ReplyOf<AllRows[Name]>;
