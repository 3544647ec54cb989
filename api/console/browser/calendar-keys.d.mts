export const dayAfterKey: (key: string, index: number, count: number) => number | null;
