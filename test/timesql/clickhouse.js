// Runs ClickHouse's engine, chDB, for a test: reads a query as JSON from each line of its
// input, and answers with a line of JSON.
const { Session } = require("chdb");
const session = new Session();
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  let answer;
  try {
    answer = { text: session.query(JSON.parse(line), "TSV") };
  } catch (e) {
    answer = { error: String(e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}).on("close", () => session.cleanup());
