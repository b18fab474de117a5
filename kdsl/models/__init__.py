"""What is kept of a solved problem: solutions, predictors, model files and their verification."""
