//! What Python would have written: json.dumps text, repr, str(), literal_eval, float text.
