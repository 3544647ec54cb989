/** Whether every word of the query is the start of a word in the text. */
export const containsWords = (text: string, query: string): boolean => {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((start) => words.some((word) => word.startsWith(start)));
};
