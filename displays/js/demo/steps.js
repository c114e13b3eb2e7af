// Generated from demo/service.toml by scripts/demo/make_sermon.py.
export const STEPS = [
  {"from": 0.5, "name": "greeting", "says": "A welcome: Spanish on the wall, French on the phone, both while she speaks."},
  {"from": 6.7888, "name": "names", "says": "A name that was misheard: it stands in the preacher's notes, so it is written as there."},
  {"from": 13.361, "name": "numbers", "says": "A date and a number: each translation is compared with what was said."},
  {"from": 20.9552, "name": "psalm", "says": "A psalm is read: the wall shows the printed verses of a Spanish Bible, not a machine's translation."},
  {"from": 33.5697, "name": "message", "says": "A preacher who pauses in the middle of a sentence: nothing is lost, and nothing is said twice."},
  {"from": 52.2127, "name": "term", "says": "A prophet's name that was misheard: the dictionary puts it right before it is translated."},
  {"from": 59.3558, "name": "quotation", "says": "A verse quoted without its number: it is found by its words, and the operator shows it."},
  {"from": 69.0568, "name": "hymn", "says": "A hymn: captions rest until somebody speaks again."},
  {"from": 80.9707, "name": "correction", "says": "A name that nobody knew: the operator corrects what was heard, and every language follows."},
  {"from": 96.04, "name": "blessing", "says": "A blessing, and the end."},
];
