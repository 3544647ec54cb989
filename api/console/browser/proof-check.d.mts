export type Key = { readonly key_id: string; readonly public_key: string; readonly cross_signature: string | null };

export type Head = {
  readonly version?: number;
  readonly size: number;
  readonly root: string;
  readonly position: string;
  readonly at: string;
  readonly signature: string;
  readonly key_id: string;
};

export type Path = { readonly leaf: string; readonly index: number; readonly size: number; readonly path: readonly string[] };

export const leafHash: (text: string) => Promise<string>;
export const nodeHash: (left: string, right: string) => Promise<string>;
export const sha256Hex: (bytes: Uint8Array) => Promise<string>;
export const rootFromPath: (proof: Path) => Promise<string | null>;
export const isConsistent: (
  before: Pick<Head, 'size' | 'root'>,
  head: Pick<Head, 'size' | 'root'> & { readonly consistency: readonly string[] },
) => Promise<boolean>;
export const checkKeys: (keys: readonly Key[]) => Promise<string | null>;
export const checkHead: (head: Head, known: { readonly tenant_id: string; readonly keys: readonly Key[] }) => Promise<string | null>;
export const checkProof: (
  entry: { readonly tenant_id: string; readonly event_id: string; readonly position: string },
  answers: { readonly text: string; readonly proof: Path & { readonly head: Head }; readonly keys: readonly Key[] },
) => Promise<string | null>;
