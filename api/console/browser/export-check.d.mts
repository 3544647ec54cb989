export type ExportProblem = { readonly line: number; readonly last_line: number; readonly text: string };

export const checkExport: (bytes: Uint8Array) => Promise<{
  readonly tenant_id: string | null;
  readonly entries: number;
  readonly heads: number;
  readonly key_id: string | null;
  readonly uncovered_contents: number;
  readonly problems: readonly ExportProblem[];
}>;
